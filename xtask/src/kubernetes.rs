//! Makes sure that kube-apiserver and etcd are there for the tests: built once, with Go, from the modules that
//! tests/real-kubernetes/pins and tests/peers/occm/pins pin.
//!
//! The binaries appear in the cache folder only when they are complete (built aside, then renamed). Go's build cache,
//! 3 GB that nothing needs afterwards, is kept apart and removed after success; after a failure it stays, so that the
//! next try goes on from there. Downloaded modules stay in Go's own module cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};

use crate::binaries::{Binaries, cache_folder, cached_binaries_folder, kubernetes_version, pinned_version};
use crate::run::{run_slowly, workspace_root};

/// What is built.
struct Program {
    /// The file name.
    name: &'static str,
    /// The folder of the module that pins it.
    module: &'static str,
    /// The Go package.
    package: &'static str,
    /// How long it takes.
    usually: &'static str,
    /// Whether the tests need it that every change must pass.
    is_needed_always: bool,
}

/// The module that pins Kubernetes itself.
pub(crate) const KUBERNETES: &str = "tests/real-kubernetes/pins";

const fn of_kubernetes(name: &'static str, package: &'static str, usually: &'static str) -> Program {
    Program { name, module: KUBERNETES, package, usually, is_needed_always: true }
}

const KUBE_APISERVER: Program =
    of_kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", "about six minutes on two cores");

const PROGRAMS: [Program; 6] = [
    of_kubernetes("etcd", "./etcd", "about a minute with the download"),
    KUBE_APISERVER,
    of_kubernetes("lease-candidate", "./lease-candidate", "a few seconds after the API server"),
    Program {
        is_needed_always: false,
        ..of_kubernetes("upstream-ccm", "./upstream-ccm", "half a minute after the API server")
    },
    of_kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl", "about a minute after the API server"),
    Program {
        name: "openstack-cloud-controller-manager",
        module: "tests/peers/occm/pins",
        package: "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager",
        usually: "about two minutes after the API server",
        is_needed_always: false,
    },
];

/// The tags of Kubernetes' own releases.
const TAGS: &str = "selinux,notest,grpcnotrace";

/// Finds the binaries, or builds them; prints where they are.
pub(crate) fn ensure() -> anyhow::Result<()> {
    ensure_those(|_program| true)
}

/// The same for those that the tests need which every change must pass.
pub(crate) fn ensure_servers() -> anyhow::Result<()> {
    ensure_those(|program| program.is_needed_always)
}

fn ensure_those(is_wanted: impl Fn(&Program) -> bool) -> anyhow::Result<()> {
    let given = std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|folder| !folder.is_empty());
    if !given {
        let wanted: Vec<Program> = PROGRAMS.into_iter().filter(is_wanted).collect();
        build(&cached_binaries_folder(), kubernetes_version(), &wanted)?;
    }
    let found = Binaries::locate()?;
    println!("      {}\n      {}", found.kube_apiserver.display(), found.etcd.display());
    for (program, without_it) in [
        (&found.lease_candidate, "no lease-candidate: the election beside client-go itself is not tested"),
        (&found.upstream_ccm, "no upstream-ccm: ours is not compared with upstream's own controllers"),
        (&found.kubectl, "no kubectl: the simulated API is not tested with it"),
        (
            &found.occm,
            "no openstack-cloud-controller-manager: the OpenStack provider is not compared with it",
        ),
    ] {
        let shown = program.as_ref().map_or(without_it.to_owned(), |path| path.display().to_string());
        println!("      {shown}");
    }
    Ok(())
}

/// Builds what is not in this folder yet.
fn build(folder: &Path, version: &str, programs: &[Program]) -> anyhow::Result<()> {
    let missing: Vec<_> = programs.iter().filter(|program| !folder.join(program.name).is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    require_go()?;
    let go_cache = cache_folder().join("go-build");
    let aside = folder.join(format!("building-{}", std::process::id()));
    fs::create_dir_all(&aside).with_context(|| format!("create {}", aside.display()))?;
    for program in missing {
        let name = program.name;
        let what = format!("building {name} for Kubernetes {version}");
        run_slowly(&mut go_build(program, version, &aside.join(name), &go_cache), &what, program.usually)?;
        fs::rename(aside.join(name), folder.join(name))?;
    }
    fs::remove_dir_all(&aside)?;
    fs::remove_dir_all(&go_cache)?;
    Ok(())
}

fn go_build(program: &Program, version: &str, output: &Path, go_cache: &Path) -> Command {
    let mut command = go(program.module);
    command.args(["build", "-trimpath", "-tags", TAGS, "-ldflags", &linker_flags(version), "-o"]);
    command.arg(output).arg(program.package).env("CGO_ENABLED", "0").env("GOCACHE", go_cache);
    command
}

/// An older release that is supported, and the module that pins its API server.
#[derive(Clone, Copy)]
pub(crate) struct OlderRelease {
    pub(crate) minor: &'static str,
    pub(crate) module: &'static str,
}

pub(crate) const OLDER_RELEASES: [OlderRelease; 3] = [
    OlderRelease { minor: "1.34", module: "tests/real-kubernetes/pins/older/1.34" },
    OlderRelease { minor: "1.35", module: "tests/real-kubernetes/pins/older/1.35" },
    OlderRelease { minor: "1.36", module: "tests/real-kubernetes/pins/older/1.36" },
];

impl OlderRelease {
    /// Finds its API server, or builds it. Returns the folder with it and etcd, which is that of the tested release.
    pub(crate) fn ensure(self) -> anyhow::Result<PathBuf> {
        let go_mod = fs::read_to_string(workspace_root().join(self.module).join("go.mod"))?;
        let version = pinned_version(&go_mod, "k8s.io/kubernetes")
            .with_context(|| format!("{}/go.mod names no Kubernetes version", self.module))?;
        let folder = cache_folder().join(format!("kubernetes-{version}"));
        build(&folder, version, &[Program { module: self.module, ..KUBE_APISERVER }])?;
        let etcd = folder.join("etcd");
        if !etcd.is_file() {
            fs::copy(Binaries::locate()?.etcd, &etcd)
                .with_context(|| format!("copy to {}", etcd.display()))?;
        }
        Ok(folder)
    }
}

fn go(module: &str) -> Command {
    let mut command = Command::new("go");
    command.current_dir(workspace_root().join(module)).env("GOWORK", "off");
    command
}

/// Strips the binary, and tells it its version: without that the server says v0.0.0-master.
fn linker_flags(version: &str) -> String {
    let mut parts = version.split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let mut flags = "-s -w".to_owned();
    for package in ["k8s.io/client-go/pkg/version", "k8s.io/component-base/version"] {
        for (name, value) in
            [("gitVersion", format!("v{version}").as_str()), ("gitMajor", major), ("gitMinor", minor)]
        {
            flags.push_str(&format!(" -X {package}.{name}={value}"));
        }
    }
    flags
}

/// Go must be there and as new as go.mod demands. A Go that may fetch its own toolchain does so here.
fn require_go() -> anyhow::Result<()> {
    let go_mod = fs::read_to_string(workspace_root().join(KUBERNETES).join("go.mod"))?;
    let needed = required_go(&go_mod).with_context(|| format!("{KUBERNETES}/go.mod names no Go version"))?;
    let output = match go(KUBERNETES).args(["env", "GOVERSION"]).stderr(Stdio::piped()).output() {
        Ok(output) => output,
        Err(error) => return Err(ways_out(needed, &format!("`go` cannot be run: {error}"))),
    };
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        bail!(ways_out(needed, String::from_utf8_lossy(&output.stderr).trim()));
    }
    if is_older(&found, needed) {
        bail!(ways_out(needed, &format!("found {found}")));
    }
    Ok(())
}

fn ways_out(needed: &str, found: &str) -> anyhow::Error {
    anyhow!(
        "kube-apiserver and etcd have to be built, for which Go {needed} or newer is needed; {found}. Two ways out: \
         install that Go, or set KUBEBUILDER_ASSETS to a folder that holds kube-apiserver and etcd of Kubernetes {} \
         (setup-envtest makes one)",
        kubernetes_version()
    )
}

/// The `go` line of a go.mod.
fn required_go(go_mod: &str) -> Option<&str> {
    go_mod.lines().find_map(|line| line.strip_prefix("go ")).map(str::trim)
}

/// Whether `found` (`go1.26.1`) is older than `needed` (`1.26.0`). What is not a release is left to Go to judge.
fn is_older(found: &str, needed: &str) -> bool {
    match (release(found.trim_start_matches("go")), release(needed)) {
        (Some(found), Some(needed)) => found < needed,
        _ => false,
    }
}

fn release(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_go_is_told_from_a_newer_one_and_an_unreleased_one_is_let_through() {
        assert!(is_older("go1.25.9", "1.26.0"));
        assert!(is_older("go1.9", "1.26.0"));
        assert!(!is_older("go1.26.0", "1.26.0"));
        assert!(!is_older("go1.100", "1.26.0"));
        assert!(!is_older("devel go1.27-abcdef", "1.26.0"));
    }

    #[test]
    fn the_go_version_is_the_one_of_the_go_line() {
        assert_eq!(required_go("module x\n\ngo 1.26.0\n\ngodebug default=go1.25\n"), Some("1.26.0"));
        assert_eq!(required_go("module x\n"), None);
    }

    #[test]
    fn the_message_names_what_was_found_and_both_ways_out() {
        let message = ways_out("1.26.0", "found go1.19.8").to_string();
        for part in ["Go 1.26.0 or newer", "found go1.19.8", "install that Go", "KUBEBUILDER_ASSETS"] {
            assert!(message.contains(part), "{part:?} in {message:?}");
        }
    }

    #[test]
    fn both_version_packages_are_told_the_full_version_and_its_parts() {
        let flags = linker_flags("1.36.3");
        assert!(flags.contains("-X k8s.io/client-go/pkg/version.gitVersion=v1.36.3"));
        assert!(flags.contains("-X k8s.io/component-base/version.gitMajor=1"));
        assert!(flags.contains("-X k8s.io/component-base/version.gitMinor=36"));
    }
}
