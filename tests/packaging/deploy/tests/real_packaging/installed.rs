//! Installed as people do it, and run as the kubelet would: a Node is initialised and a Service gets an address, under the rights that
//! came with it.

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::Identity;
use bowline_testkit::manager::{Manager, ServingPort};
use bowline_testkit::nodes::{UNINITIALIZED, registered};
use bowline_testkit::process::{Process, program};
use bowline_testkit::{Wait, eventually};
use serde_json::{Value, json};
use sim_openstack::MEMBER;

use crate::harness::{DEPLOY, Harness, Tools, path_text};
use crate::helm::{CASES, CHART, documents};
use crate::measured;
use crate::pod::{self, Started};
use bowline_testkit::cloud::Cloud;

/// Starts what a container says, as the identity that its pod has.
async fn run(stage: &Harness, started: &Started) -> anyhow::Result<Process> {
    let (word, arguments) = started.words.split_first().context("no command")?;
    ensure!(word == "bowline", "{word} is not in the image");
    let kubeconfig = stage.cluster.kubeconfig(&started.identity).await?;
    let manager = Manager::new(program("bowline")?).flags(arguments.iter().cloned());
    // In a pod with a ServiceAccount it would find its token; a static pod has these flags already.
    let is_told = arguments.iter().any(|word| word.starts_with("--kubeconfig="));
    let flags = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
    let flags =
        flags.into_iter().filter(|_| !is_told).map(|flag| format!("--{flag}={}", kubeconfig.display()));
    manager.flags(["--bind-address=127.0.0.1"]).flags(flags).start(stage.folder.join("bowline.log"))
}

/// A Node as a kubelet with `--cloud-provider=external` registers it.
async fn register(stage: &Harness, name: &str, id: &str) -> anyhow::Result<()> {
    stage.admin.apply(&registered(name, id)).await?;
    let status = json!({
        "nodeInfo": registered(name, id)["status"]["nodeInfo"], "conditions": [{"type": "Ready", "status": "True"}],
    });
    stage.admin.patch_status(&format!("node/{name}"), &status).await
}

/// Waits until an object is as wanted.
async fn until(
    stage: &Harness,
    manager: &mut Process,
    object: &str,
    wanted: impl Fn(&Value) -> bool,
) -> anyhow::Result<Value> {
    let read = async || {
        manager.ensure_running()?;
        stage.admin.json(&["get", object]).await
    };
    let found = Wait::default().until_value(format!("{object} as wanted"), read, wanted).await;
    found.with_context(|| manager.tail())
}

fn is_initialised(node: &Value, id: &str) -> bool {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    node["spec"]["providerID"] == format!("openstack:///{id}")
        && !taints.into_iter().any(|taint| taint["key"] == UNINITIALIZED)
}

/// What the manager answers on its port: to an administrator, or to nobody in particular as the kubelet is.
async fn ask(
    stage: &Harness,
    identity: &Identity,
    port: &Value,
    path: &str,
) -> anyhow::Result<(u16, String)> {
    let port = port.as_u64().and_then(|port| u16::try_from(port).ok()).context("a port")?;
    ServingPort(port).get(&stage.cluster, identity, path).await
}

/// The probes of the container, as the kubelet asks them.
async fn probe(stage: &Harness, started: &Started, manager: &mut Process) -> anyhow::Result<()> {
    for name in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let get = &started.container[name]["httpGet"];
        let path = get["path"].as_str().with_context(|| format!("{name} has no path"))?;
        ensure!(get["scheme"] == "HTTPS" && get["host"] == "127.0.0.1", "{get}");
        let passed = eventually(format!("{name} passes"), async || {
            manager.ensure_running()?;
            let answer = ask(stage, &Identity::Anonymous, &get["port"], path).await;
            Ok(answer.is_ok_and(|(status, _page)| status == 200).then_some(()))
        });
        let passed = passed.await;
        passed.with_context(|| manager.tail())?;
    }
    Ok(())
}

/// A Node is initialised, a Service gets an address, nothing was forbidden, and the Lease has the name that was asked for.
async fn works(stage: &Harness, cloud: &Cloud, started: &Started, cluster: &str) -> anyhow::Result<Process> {
    let machines = cloud.machines().await?;
    for (name, id, _) in &machines {
        register(stage, name, id).await?;
    }
    stage.admin.run(&["create", "service", "loadbalancer", "web", "--tcp=80:8080"]).await?;
    let mut manager = run(stage, started).await?;
    probe(stage, started, &mut manager).await?;
    for (name, id, _) in &machines {
        until(stage, &mut manager, &format!("node/{name}"), |node| is_initialised(node, id)).await?;
    }
    let has_address = |service: &Value| service["status"]["loadBalancer"]["ingress"][0]["ip"].is_string();
    until(stage, &mut manager, "service/web", has_address).await?;
    let balancers = cloud.contents().await?["loadbalancers"].take();
    ensure!(balancers[0]["name"] == format!("kube_service_{cluster}_default_web"), "{balancers:#}");
    let lease = ["get", "lease", "cloud-controller-manager", "--namespace=kube-system"];
    let lease = stage.admin.json(&lease).await?;
    ensure!(lease["spec"]["holderIdentity"].is_string(), "{lease:#}");
    let said = manager.log();
    ensure!(!said.contains("forbidden"), "a right is missing:\n{}", manager.tail());
    Ok(manager)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chart_installs_a_manager_that_works_and_exposes_what_the_alerts_ask_for_and_leaves_nothing()
-> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let (stage, cloud) = (Harness::start(&tools).await?, Cloud::start(2).await?);
    let conf = std::fs::read_to_string(cloud.write_conf(&stage.folder, "")?)?;
    let auth_url = conf.lines().find_map(|line| line.strip_prefix("auth-url = ")).context("no auth-url")?;
    let values = json!({
        "cluster": {"name": "my-cluster"},
        "securePort": ServingPort::free()?.0,
        "cloudConfig": {
            "global": {
                "auth-url": auth_url, "region": "RegionOne", "username": MEMBER.user, "password": MEMBER.password,
                "tenant-name": MEMBER.project, "domain-id": "default",
            },
            "loadBalancer": {"subnet-id": cloud.estate.subnet, "floating-network-id": cloud.estate.external_network},
        },
        "controllerExtraArgs": ["--cloud-api-qps=100", "--kube-api-qps=200"],
        "serviceMonitor": {"enabled": true},
    });
    let values = stage.write("values.yaml", &values.to_string())?;
    stage.define_monitoring().await?;
    let notes = stage.helm(&tools, &["install", "bowline", CHART, "--values", &values])?;
    for part in [
        "is the cloud-controller-manager of cluster my-cluster (mode Full)",
        "rollout status deployment/bowline",
    ] {
        ensure!(notes.contains(part), "{part:?} in {notes}");
    }
    let started = pod::start(&stage, "deployment/bowline").await?;
    ensure!(started.identity == Identity::service_account("kube-system", "bowline"));
    let manager = works(&stage, &cloud, &started, "my-cluster").await?;
    let port = &started.container["ports"][0]["containerPort"];
    let scraper = Identity::service_account("kube-system", "bowline-scraper");
    let (status, page) = ask(&stage, &scraper, port, "/metrics").await?;
    ensure!(status == 200, "{page}");
    measured::check(&page)?;
    let (status, _) = ask(&stage, &Identity::Anonymous, port, "/metrics").await?;
    ensure!([401, 403].contains(&status), "metrics for everybody: {status}");
    let (status, _) = ask(&stage, &scraper, port, "/configz").await?;
    ensure!(status == 403, "the scraper may read more than metrics: {status}");
    manager.terminate().await?;
    stage.helm(&tools, &["uninstall", "bowline"])?;
    let ours = "--selector=app.kubernetes.io/instance=bowline";
    let kinds = "deployments,services,secrets,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,poddisruptionbudgets";
    let left = stage.admin.run(&["get", kinds, ours, "--namespace=kube-system", "--output=name"]).await?;
    ensure!(left.is_empty(), "left behind: {left}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_manifest_for_kubectl_starts_a_manager_that_works() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let (stage, cloud) = (Harness::start(&tools).await?, Cloud::start(1).await?);
    let conf = cloud.write_conf(&stage.folder, "")?;
    let create = ["create", "--namespace=kube-system"];
    let configmap = ["configmap", "bowline", "--from-literal=cluster-name=my-cluster"];
    stage.admin.run(&[&create[..], &configmap].concat()).await?;
    let from = format!("--from-file=cloud.conf={}", conf.display());
    stage.admin.run(&[&create[..], &["secret", "generic", "cloud-config", &from]].concat()).await?;
    // Tests run side by side; on a node of its own the port is free.
    let manifest = std::fs::read_to_string(format!("{DEPLOY}/manifests/deployment.yaml"))?;
    let file =
        stage.write("deployment.yaml", &manifest.replace("10258", &ServingPort::free()?.0.to_string()))?;
    stage.admin.run(&["apply", "-f", &file]).await?;
    let started = pod::start(&stage, "deployment/cloud-controller-manager").await?;
    works(&stage, &cloud, &started, "my-cluster").await?.terminate().await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_static_pod_works_as_its_user_with_the_files_of_its_node() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let (stage, cloud) = (Harness::start(&tools).await?, Cloud::start(1).await?);
    let folder = format!("{DEPLOY}/manifests/static-pod");
    stage.admin.run(&["apply", "-f", &format!("{folder}/rights.yaml")]).await?;
    let manifest = std::fs::read_to_string(format!("{folder}/cloud-controller-manager.yaml"))?;
    let manifest = documents(&manifest.replace("10258", &ServingPort::free()?.0.to_string()))?;
    let identity = Identity::user("system:cloud-controller-manager");
    let files = [
        (
            "/etc/kubernetes/cloud-controller-manager.conf",
            path_text(&stage.cluster.kubeconfig(&identity).await?)?,
        ),
        (
            "/etc/kubernetes/cloud-controller-manager/cloud.conf",
            path_text(&cloud.write_conf(&stage.folder, "")?)?,
        ),
    ];
    let started = pod::of_node(&manifest[0], identity, &files)?;
    works(&stage, &cloud, &started, "kubernetes").await?.terminate().await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_shadow_mode_the_chart_gives_rights_that_can_change_nothing_and_it_can_be_changed_to_full()
-> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let stage = Harness::start(&tools).await?;
    let values = format!("{CASES}/shadow.yaml");
    stage.helm(&tools, &["install", "bowline", CHART, "--values", &values])?;
    let who = "--as=system:serviceaccount:kube-system:bowline";
    for (question, allowed) in [
        (&["list", "nodes"][..], true),
        (&["watch", "services"], true),
        (&["patch", "nodes"], false),
        (&["delete", "nodes"], false),
        (&["patch", "services", "--subresource=status"], false),
        (&["update", "leases.coordination.k8s.io", "--namespace=kube-system"], false),
        (&["patch", "configmaps/bowline-report", "--namespace=kube-system"], true),
        (&["patch", "configmaps/other", "--namespace=kube-system"], false),
    ] {
        let answer = stage.admin.run(&[&["auth", "can-i", who][..], question].concat()).await;
        // "no" is an exit code.
        ensure!(answer.is_ok_and(|answer| answer.trim() == "yes") == allowed, "{question:?}");
    }
    // What was tried out becomes the manager itself, and then another kind of workload.
    for (more, wanted) in [
        ("mode=Full,securePort=10258", "deployment.apps/bowline"),
        ("mode=Full,kind=DaemonSet", "daemonset.apps/bowline"),
    ] {
        stage.helm(&tools, &["upgrade", "bowline", CHART, "--values", &values, "--set", more])?;
        let get = ["get", "deployments,daemonsets", "--namespace=kube-system", "--output=name"];
        ensure!(stage.admin.run(&get).await?.trim() == wanted, "{more}");
    }
    Ok(())
}
