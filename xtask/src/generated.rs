//! The files that are generated from tables in the code: written by `gen`, compared by `gen --check`.
//!
//! Knows only which command prints which file. The tables stay in the crates that use them, and xtask does not link
//! those crates.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::commands_page;
use crate::compatibility_page;
use crate::run::{run, workspace_root};
use crate::workspace::workspace;

/// A file, and the example that prints what belongs into it when it is given a word.
struct Generated {
    path: &'static str,
    example: &'static str,
    word: &'static str,
}

/// Not an example: the binary itself, whose help is the page.
const HELP: &str = "bowline";
/// Not an example either: one table of the page.
const RELEASES: &str = "releases";

/// The example of bowline-manager.
const MANAGER: &str = "reference";
/// The example of bowline-openstack.
const OPENSTACK: &str = "openstack-reference";
/// The example of bowline-operator.
const OPERATOR: &str = "operator-reference";
/// The example of tests/packaging/deploy.
const PACKAGING: &str = "packaging-reference";

/// All generated files; add a line for a new one.
const GENERATED: &[Generated] = &[
    Generated { path: "docs/reference/flags.md", example: MANAGER, word: "flags" },
    Generated { path: "docs/reference/commands.md", example: HELP, word: "" },
    Generated { path: "docs/reference/compatibility.md", example: RELEASES, word: "" },
    Generated { path: "docs/reference/cloud-conf.md", example: OPENSTACK, word: "cloud-conf" },
    Generated { path: "docs/reference/annotations.md", example: OPENSTACK, word: "annotations" },
    Generated { path: "docs/reference/metrics.md", example: OPERATOR, word: "metrics" },
    Generated { path: "docs/reference/events.md", example: OPERATOR, word: "events" },
    Generated { path: "docs/reference/conditions.md", example: OPERATOR, word: "conditions" },
    Generated { path: "docs/reference/rbac.md", example: OPERATOR, word: "rights" },
    Generated { path: "docs/reference/cloudcontrollermanager.md", example: OPERATOR, word: "resource" },
    Generated { path: "deploy/admission.yaml", example: OPENSTACK, word: "admission" },
    Generated { path: "deploy/crd.yaml", example: OPERATOR, word: "crd" },
    Generated { path: "deploy/operator.yaml", example: OPERATOR, word: "operator" },
    Generated { path: "deploy/rbac.yaml", example: MANAGER, word: "rbac" },
    Generated {
        path: "deploy/rbac-service-account-credentials.yaml",
        example: MANAGER,
        word: "rbac-service-account-credentials",
    },
    Generated { path: "deploy/rbac-shadow.yaml", example: MANAGER, word: "rbac-shadow" },
    Generated { path: "deploy/rbac-viewer.yaml", example: MANAGER, word: "rbac-viewer" },
    Generated { path: "deploy/chart/README.md", example: PACKAGING, word: "chart-readme" },
    Generated { path: "deploy/chart/values.yaml", example: PACKAGING, word: "chart-values" },
    Generated { path: "deploy/chart/values.schema.json", example: PACKAGING, word: "chart-schema" },
    Generated { path: "deploy/chart/templates/_rights.tpl", example: PACKAGING, word: "chart-rights" },
    Generated { path: "deploy/chart/files/admission.yaml", example: OPENSTACK, word: "admission" },
    Generated { path: "deploy/chart/files/alerts.yaml", example: PACKAGING, word: "alerts" },
    Generated { path: "deploy/chart/files/dashboard.json", example: PACKAGING, word: "dashboard" },
    Generated { path: "deploy/monitoring/alerts.yaml", example: PACKAGING, word: "alerts" },
    Generated { path: "deploy/monitoring/dashboard.json", example: PACKAGING, word: "dashboard" },
    Generated { path: "deploy/manifests/deployment.yaml", example: PACKAGING, word: "manifest-deployment" },
    Generated { path: "deploy/manifests/daemonset.yaml", example: PACKAGING, word: "manifest-daemonset" },
    Generated { path: "deploy/manifests/shadow.yaml", example: PACKAGING, word: "manifest-shadow" },
    Generated {
        path: "deploy/manifests/static-pod/rights.yaml",
        example: PACKAGING,
        word: "manifest-static-pod-rights",
    },
    Generated {
        path: "deploy/manifests/static-pod/cloud-controller-manager.yaml",
        example: PACKAGING,
        word: "manifest-static-pod",
    },
    Generated { path: "deploy/kustomize/base/manager.yaml", example: PACKAGING, word: "kustomize-base" },
    Generated {
        path: "deploy/kustomize/overlays/deployment/deployment.yaml",
        example: PACKAGING,
        word: "kustomize-deployment",
    },
    Generated {
        path: "deploy/kustomize/overlays/daemonset/daemonset.yaml",
        example: PACKAGING,
        word: "kustomize-daemonset",
    },
    Generated {
        path: "deploy/kustomize/overlays/shadow/shadow.yaml",
        example: PACKAGING,
        word: "manifest-shadow",
    },
    Generated {
        path: "deploy/kustomize/components/monitoring/service-monitor.yaml",
        example: PACKAGING,
        word: "kustomize-monitor",
    },
    Generated {
        path: "deploy/kustomize/components/monitoring/alerts.yaml",
        example: PACKAGING,
        word: "alerts-object",
    },
    Generated {
        path: "deploy/kustomize/components/monitoring/dashboard.json",
        example: PACKAGING,
        word: "dashboard",
    },
    Generated {
        path: "deploy/kustomize/components/admission/admission.yaml",
        example: OPENSTACK,
        word: "admission",
    },
];

/// Writes all generated files.
pub(crate) fn write() -> anyhow::Result<()> {
    build()?;
    for file in GENERATED {
        let path = workspace_root().join(file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        fs::write(&path, print(file)?).with_context(|| format!("write {}", file.path))?;
        println!("      wrote {}", file.path);
    }
    Ok(())
}

/// Fails if a generated file is not what the code says.
pub(crate) fn check() -> anyhow::Result<()> {
    build()?;
    let mut stale = Vec::new();
    for file in GENERATED {
        if !is_current(&workspace_root().join(file.path), &print(file)?) {
            stale.push(file.path);
        }
    }
    if !stale.is_empty() {
        bail!("not what the code says: {}. Run `cargo xtask gen` and commit the result", stale.join(", "));
    }
    println!("      {} generated files, all current", GENERATED.len());
    Ok(())
}

fn build() -> anyhow::Result<()> {
    run(&mut workspace("build", &["--bin", HELP, "--examples"]))
}

fn print(file: &Generated) -> anyhow::Result<Vec<u8>> {
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    if file.example == HELP {
        return commands_page::page(&folder.join(HELP));
    }
    if file.example == RELEASES {
        return compatibility_page::page(&workspace_root().join(file.path));
    }
    let program = folder.join("examples").join(file.example);
    let output = Command::new(&program).arg(file.word).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!(
            "`{} {}` failed ({}), so {} is unknown",
            program.display(),
            file.word,
            output.status,
            file.path
        );
    }
    Ok(output.stdout)
}

fn is_current(path: &Path, wanted: &[u8]) -> bool {
    fs::read(path).is_ok_and(|found| found == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_current_only_if_it_is_there_and_equal() {
        let path = std::env::temp_dir().join(format!("bowline-generated-{}", std::process::id()));
        assert!(!is_current(&path, b"text"));
        fs::write(&path, "text").unwrap();
        assert!(is_current(&path, b"text"));
        assert!(!is_current(&path, b"other text"));
        fs::remove_file(&path).unwrap();
    }
}
