//! Where blocks are run: programs on the PATH and, by name, the servers that a page takes for granted.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use bowline_testkit::apiserver::{Binaries, Cluster, Identity, cache_folder};
use bowline_testkit::eventually;
use bowline_testkit::process::{Process, program};
use tokio::sync::{Mutex, MutexGuard};

use crate::shell::Shell;
use crate::{client_location, helm};

/// Pages on the one real API server take turns: several make the same objects.
static TURN: Mutex<()> = Mutex::const_new(());

/// Servers that end with it, and the variables by which a shell finds them.
pub(crate) struct Surroundings {
    pub(crate) variables: Vec<(String, String)>,
    servers: Vec<Process>,
    turn: Option<MutexGuard<'static, ()>>,
}

impl Surroundings {
    /// The surroundings of this name, for a shell in `folder`.
    pub(crate) async fn start(name: &str, folder: &Path) -> anyhow::Result<Self> {
        let variables = vec![("PATH".to_owned(), path(folder)?)];
        let mut here = Self { variables, servers: Vec::new(), turn: None };
        match name {
            "plain" => {}
            "cluster" => here.cluster(folder).await?,
            "kubernetes" => {
                here.turn = Some(TURN.lock().await);
                let kubeconfig = Cluster::shared().await?.kubeconfig(&Identity::Admin).await?;
                here.set("KUBECONFIG", &kubeconfig);
            }
            "playground" => here.playground(folder).await?,
            other => bail!("no surroundings are called {other}"),
        }
        Ok(here)
    }

    fn set(&mut self, name: &str, value: &Path) {
        self.variables.push((name.to_owned(), value.display().to_string()));
    }

    /// What the servers said last, for a page that failed.
    pub(crate) fn logs(&self) -> String {
        let logs = self.servers.iter();
        logs.map(|server| format!("--- {}\n{}\n", server.log_file().display(), server.tail())).collect()
    }

    /// Both simulators, three nodes whose kubelets wait for their cloud, and the manager of a cluster called `shop`.
    async fn cluster(&mut self, folder: &Path) -> anyhow::Result<()> {
        let own = folder.join(".cluster");
        fs::create_dir_all(&own)?;
        let (kubeconfig, clouds) = (own.join("kubeconfig"), own.join("clouds.yaml"));
        self.serve(
            &own,
            "kube",
            ["sim", "kube", "--listen", "127.0.0.1:0", "--write-kubeconfig"],
            &kubeconfig,
        )?;
        let cloud = ["sim", "openstack", "--instant", "--clouds-yaml"];
        self.serve(&own, "openstack", cloud, &clouds)?;
        until_there(&kubeconfig).await?;
        until_there(&clouds).await?;
        self.set("KUBECONFIG", &kubeconfig);
        self.set("OS_CLIENT_CONFIG_FILE", &clouds);
        self.set("OS_CLOUD", Path::new("sim"));
        let shell = Shell::new(&own, "prepare", self.variables.clone());
        shell.run(NODES).await.context("register the nodes")?;
        let conf = own.join("cloud.conf");
        fs::write(
            &conf,
            format!("[Global]\nuse-clouds = true\nclouds-file = {}\ncloud = sim\n", clouds.display()),
        )?;
        // The manager's own: a page may add to it.
        symlink(&conf, folder.join("cloud.conf"))?;
        let flags =
            ["ccm", "--cloud-provider=openstack", "--cluster-name=shop", "--secure-port=0", "--kubeconfig"];
        let mut manager: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
        let config = format!("--cloud-config={}", conf.display());
        manager.insert(1, OsStr::new(&config));
        self.serve(&own, "manager", manager, &kubeconfig)?;
        shell.run("kubectl wait nodes --all --for=jsonpath='{.spec.providerID}' --timeout=90s").await?;
        Ok(())
    }

    /// The playground; a page finds its files by `PLAYGROUND`.
    async fn playground(&mut self, folder: &Path) -> anyhow::Result<()> {
        let own = folder.join(".playground");
        fs::create_dir_all(&own)?;
        self.serve(folder, "playground", ["playground", "--listen", "127.0.0.1:0", "--dir"], &own)?;
        // It says what to do next when its first Service is served.
        until_holds(&folder.join("playground.log"), "KUBECONFIG").await?;
        self.set("PLAYGROUND", &own);
        Ok(())
    }

    fn serve(
        &mut self,
        folder: &Path,
        name: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        last: &Path,
    ) -> anyhow::Result<()> {
        let mut command = Command::new(program("bowline")?);
        command.args(arguments).arg(last).current_dir(folder);
        self.servers.push(Process::start(command, folder.join(format!("{name}.log")))?);
        Ok(())
    }
}

/// What kubelets with `--cloud-provider=external` register, and say of themselves.
const NODES: &str = r#"
for name in node-1 node-2 node-3; do
  printf '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s"}, "spec": {"taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}]}}' $name |
    kubectl create -f -
  kubectl patch node $name --subresource=status --type=merge -p '{"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}'
done
"#;

async fn until_there(file: &Path) -> anyhow::Result<()> {
    until_holds(file, "").await
}

/// Waits until a file is there, is not empty, and holds a text.
async fn until_holds(file: &Path, text: &str) -> anyhow::Result<()> {
    let holds = || fs::read_to_string(file).is_ok_and(|found| !found.is_empty() && found.contains(text));
    let what = format!("{text:?} in {}", file.display());
    eventually(what, async || Ok(holds().then_some(()))).await
}

/// The PATH of a reader, and in the folder what a reader has beside it: `deploy`.
fn path(folder: &Path) -> anyhow::Result<String> {
    let programs = folder.join(".programs");
    if !programs.exists() {
        fs::create_dir_all(&programs)?;
        let kubectl = Binaries::locate()?.kubectl.context("no kubectl; run `cargo xtask kubernetes`")?;
        symlink(kubectl, programs.join("kubectl"))?;
        symlink(program("bowline")?, programs.join("bowline"))?;
        if let Ok(openstack) = client_location::locate(&cache_folder()) {
            symlink(openstack, programs.join("openstack"))?;
        }
        if let Ok(helm) = helm() {
            symlink(helm, programs.join("helm"))?;
        }
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../deploy"), folder.join("deploy"))?;
    }
    Ok(format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default()))
}
