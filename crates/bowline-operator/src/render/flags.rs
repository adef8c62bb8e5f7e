//! The flags of the manager: ours first, then what the resource adds. Ours cannot be overruled.

use super::error::RenderError;
use super::mode::ManagerMode;
use super::names::shadow_report_name;
use crate::api::{CloudControllerManagerSpec, Manager};
use crate::tls;

/// The port of health and metrics: upstream's.
pub(super) const PORT: i32 = 10258;
/// The port of a manager in shadow mode: another, for it runs on the host's network beside the one whose port that is.
const SHADOW_PORT: i32 = 10278;

/// The flags that the operator sets, and where a person says the same.
const OWN: [(&str, &str); 25] = [
    ("adopt-only", PHASE),
    ("authentication-kubeconfig", FORM),
    ("authorization-kubeconfig", FORM),
    ("bind-address", "probes and metrics depend on it"),
    ("cloud-config", "use cloudConfig"),
    ("cloud-provider", "use platform"),
    ("cluster-name", "use clusterName"),
    ("controllers", "use controllers"),
    ("feature-gates", "use featureGates"),
    ("kubeconfig", FORM),
    ("leader-elect", "it is always on"),
    ("leader-elect-resource-lock", "it is always a Lease"),
    ("leader-elect-resource-name", "use leaseName"),
    ("leader-elect-resource-namespace", "use leaseNamespace"),
    ("master", "use apiServer"),
    ("paused", PHASE),
    ("secure-port", "probes and metrics depend on it"),
    ("shadow", PHASE),
    ("shadow-report", PHASE),
    ("tls-cert-file", "the manager makes its own certificate"),
    ("tls-cipher-suites", "use tls.cipherSuites"),
    ("tls-min-version", "use tls.minVersion"),
    ("tls-private-key-file", "the manager makes its own certificate"),
    ("use-service-account-credentials", "the rights that are made are those of one account"),
    ("version", "the manager must run"),
];
const PHASE: &str = "it follows from the phase of the migration";
const FORM: &str = "it follows from the form";

/// What the manager is told besides its configuration.
pub(super) struct Arguments<'a> {
    pub(super) spec: &'a CloudControllerManagerSpec,
    /// What the names of the resource's objects begin with.
    pub(super) base: String,
    pub(super) mode: ManagerMode,
    /// The value of `--cloud-provider`.
    pub(super) provider: &'a str,
    /// Where the configuration is in the container.
    pub(super) config_file: Option<&'a str>,
    /// Where the kubeconfig is, for pods that have no ServiceAccount.
    pub(super) kubeconfig: Option<&'a str>,
    /// Flags that the platform's manager needs.
    pub(super) platform: Vec<String>,
    /// Controllers that another program of the platform has.
    pub(super) elsewhere: &'a [&'a str],
}

impl Arguments<'_> {
    /// All flags.
    pub(super) fn flags(&self) -> Result<Vec<String>, RenderError> {
        let spec = self.spec;
        let mut flags = vec![format!("--cloud-provider={}", self.provider)];
        flags.extend(self.config_file.map(|path| format!("--cloud-config={path}")));
        flags.push(format!("--cluster-name={}", spec.cluster_name));
        flags.push(format!("--controllers={}", self.controllers()));
        flags.extend(self.election());
        flags.extend(self.kubeconfig());
        flags.push("--use-service-account-credentials=false".to_owned());
        flags.push(format!("--secure-port={}", port(self.mode)));
        if !spec.feature_gates.is_empty() {
            let gates = spec.feature_gates.iter().map(|(gate, is_on)| format!("{gate}={is_on}"));
            flags.push(format!("--feature-gates={}", gates.collect::<Vec<_>>().join(",")));
        }
        if let Some(asked) = &spec.tls {
            let min_version = asked.min_version.as_deref().unwrap_or_default();
            flags.extend(tls::resolve(min_version, &asked.cipher_suites, None)?.operand_flags());
        }
        if spec.manager == Manager::Bowline {
            let report = format!("{}/{}", spec.namespace, shadow_report_name(&self.base));
            flags.extend(self.mode.own_flags(&report));
        }
        flags.extend(self.platform.iter().cloned());
        flags.extend(extra_flags(&spec.extra_flags)?);
        Ok(flags)
    }

    /// What the mode says, without what another program has, unless the resource has its own word on it.
    fn controllers(&self) -> String {
        let mut controllers = self.mode.controllers(self.spec.manager, &self.spec.controllers);
        for name in self.elsewhere {
            let is_said = controllers.split(',').any(|word| word.strip_prefix('-').unwrap_or(word) == *name);
            if controllers.split(',').any(|word| word == "*") && !is_said {
                controllers = format!("{controllers},-{name}");
            }
        }
        controllers
    }

    /// A manager in shadow mode takes no Lease: it must run beside the one who holds it.
    fn election(&self) -> Vec<String> {
        if self.mode == ManagerMode::Shadow {
            return vec!["--leader-elect=false".to_owned()];
        }
        vec![
            "--leader-elect=true".to_owned(),
            format!("--leader-elect-resource-namespace={}", self.spec.lease_namespace),
            format!("--leader-elect-resource-name={}", self.spec.lease_name),
        ]
    }

    fn kubeconfig(&self) -> Vec<String> {
        let names = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"];
        let flag = |path: &str| names.map(|name| format!("--{name}={path}"));
        self.kubeconfig.into_iter().flat_map(flag).collect()
    }
}

/// The port of a manager in this mode.
pub(super) fn port(mode: ManagerMode) -> i32 {
    if mode == ManagerMode::Shadow { SHADOW_PORT } else { PORT }
}

/// What the resource adds, if it is flags and none of ours.
fn extra_flags(flags: &[String]) -> Result<Vec<String>, RenderError> {
    for flag in flags {
        let name = flag_name(flag).ok_or_else(|| RenderError::NotAFlag { flag: flag.clone() })?;
        if let Some((_, instead)) = OWN.iter().find(|(own, _)| *own == name) {
            return Err(RenderError::OwnFlag { flag: name, instead });
        }
    }
    Ok(flags.to_vec())
}

/// The name of a flag, with `-` where `_` is accepted, too.
fn flag_name(flag: &str) -> Option<String> {
    let rest = flag.strip_prefix("--")?;
    let name = rest.split_once('=').map_or(rest, |(name, _)| name).replace('_', "-");
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_letter);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extra(flag: &str) -> Result<Vec<String>, String> {
        extra_flags(&[flag.to_owned()]).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_of_the_operator_are_refused_by_name_however_they_are_written() {
        for (flag, name) in [
            ("--cluster-name=x", "--cluster-name"),
            ("--cluster_name=x", "--cluster-name"),
            ("--leader-elect", "--leader-elect"),
            ("--shadow=false", "--shadow"),
            ("--controllers=*", "--controllers"),
        ] {
            let error = extra(flag).unwrap_err();
            assert!(error.contains(name) && error.contains("operator"), "{error}");
        }
    }

    #[test]
    fn what_is_no_flag_is_refused_and_quoted() {
        for word in ["", "v=2", "-v=2", "--", "--=x", "---v", "--Name=x", "--v 2", "--a b=c"] {
            let error = extra(word).unwrap_err();
            assert!(error.contains(&format!("{word:?}")), "{error}");
        }
        for flag in ["--v=2", "--profiling", "--vmodule=a b=2", "--route-reconciliation-period=1m"] {
            assert_eq!(extra(flag).unwrap(), [flag]);
        }
    }
}
