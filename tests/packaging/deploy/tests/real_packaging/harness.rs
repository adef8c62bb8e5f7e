//! A cluster, and those who install something in it.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::kubectl::Kubectl;
use serde_json::{Value, json};

use crate::helm::Helm;

/// What is shipped.
pub(crate) const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy");

/// The programs.
pub(crate) struct Tools {
    pub(crate) helm: Helm,
    kubectl: PathBuf,
}

impl Tools {
    /// Those of this machine; none, said aloud, if one is missing.
    pub(crate) fn locate() -> anyhow::Result<Option<Self>> {
        let Some(helm) = Helm::locate() else { return Ok(None) };
        let Some(kubectl) = Kubectl::locate()? else { return Ok(None) };
        Ok(Some(Self { helm, kubectl }))
    }
}

/// A cluster of one's own.
pub(crate) struct Harness {
    pub(crate) cluster: Cluster,
    pub(crate) admin: Kubectl,
    pub(crate) folder: PathBuf,
    kubeconfig: PathBuf,
}

impl Harness {
    pub(crate) async fn start(tools: &Tools) -> anyhow::Result<Self> {
        let cluster = Cluster::start().await?;
        let folder = cluster.folder().to_owned();
        let kubeconfig = cluster.kubeconfig(&Identity::Admin).await?;
        let admin = Kubectl::new(&tools.kubectl, kubeconfig.clone(), &folder.join("kubectl"));
        Ok(Self { cluster, admin, folder, kubeconfig })
    }

    /// Runs helm on this cluster; the answer is what it prints.
    pub(crate) fn helm(&self, tools: &Tools, arguments: &[&str]) -> anyhow::Result<String> {
        let kubeconfig = path_text(&self.kubeconfig)?;
        let fixed = ["--kubeconfig", &kubeconfig, "--namespace", "kube-system"];
        let output = tools.helm.run(&[&fixed, arguments].concat())?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "helm {}: {said}", arguments.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The kinds of the Prometheus operator, with the fields that we use and no others.
    pub(crate) async fn define_monitoring(&self) -> anyhow::Result<()> {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let text = json!({"type": "string"});
        let of = |properties: Value| json!({"type": "object", "properties": properties});
        let many = |item: Value| json!({"type": "array", "items": item});
        let texts = json!({"type": "object", "additionalProperties": text});
        let tls = of(json!({"insecureSkipVerify": {"type": "boolean"}}));
        let secret_key = of(json!({"name": text, "key": text}));
        let names = of(json!({"matchNames": many(text.clone())}));
        let endpoint = of(json!({
            "port": text, "scheme": text, "interval": text, "path": text, "tlsConfig": tls,
            "bearerTokenFile": text, "authorization": of(json!({"credentials": secret_key})),
        }));
        let rule =
            of(json!({"alert": text, "expr": text, "for": text, "labels": texts, "annotations": texts}));
        let groups = many(of(json!({"name": text, "rules": many(rule)})));
        let kinds = [
            (
                "ServiceMonitor",
                json!({"endpoints": many(endpoint.clone()), "selector": any, "namespaceSelector": names}),
            ),
            (
                "PodMonitor",
                json!({"podMetricsEndpoints": many(endpoint), "selector": any, "namespaceSelector": names}),
            ),
            ("PrometheusRule", json!({"groups": groups})),
        ];
        let mut definitions = Vec::new();
        for (kind, spec) in kinds {
            let plural = format!("{}s", kind.to_lowercase());
            let schema = of(json!({"spec": of(spec)}));
            definitions.push(json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.monitoring.coreos.com")},
                "spec": {
                    "group": "monitoring.coreos.com", "scope": "Namespaced",
                    "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
                },
            }));
        }
        self.admin.apply_all(&definitions).await?;
        let wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
        self.admin.run(&wait).await.map(drop)
    }

    /// The account of pods that name none: the controller that makes it is not here.
    pub(crate) async fn default_account(&self, namespace: &str) -> anyhow::Result<()> {
        let metadata = json!({"name": "default", "namespace": namespace});
        self.admin.apply(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await
    }

    /// The rendered objects of a folder for kustomize.
    pub(crate) async fn kustomize(&self, folder: &str) -> anyhow::Result<String> {
        self.admin.run(&["kustomize", &format!("{DEPLOY}/kustomize/{folder}")]).await
    }

    /// A file in the stage's folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<String> {
        let path = self.folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        path_text(&path)
    }
}

/// A path as text.
pub(crate) fn path_text(path: &Path) -> anyhow::Result<String> {
    Ok(path.to_str().context("a path that is no text")?.to_owned())
}
