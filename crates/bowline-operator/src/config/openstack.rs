//! OpenStack: from what OpenShift's installer wrote for the provider inside Kubernetes to what OCCM and we read.
//!
//! A text that is in the new form already comes out as it is. All values are checked by the provider's own schema.

#[cfg(test)]
mod tests;

use bowline_openstack::config::{self as provider, Source, decode};

use super::ini::Ini;
use super::problem::{Change, ChangeKind, ConfigError, Problem, Transformed};
use crate::platform::Platform;

/// What OpenShift mounts, and what its installer has written. The default is as it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStackOptions {
    /// Where the credentials are mounted.
    pub clouds_file: String,
    /// The name of the cloud in it.
    pub cloud: String,
    /// The Secret that the old form names; no other can be served.
    pub secret_name: String,
    /// Its namespace.
    pub secret_namespace: String,
}

impl Default for OpenStackOptions {
    fn default() -> Self {
        Self {
            clouds_file: "/etc/openstack/secret/clouds.yaml".to_owned(),
            cloud: "openstack".to_owned(),
            secret_name: "openstack-credentials".to_owned(),
            secret_namespace: "kube-system".to_owned(),
        }
    }
}

const GLOBAL: &str = "Global";
const LOAD_BALANCER: &str = "LoadBalancer";
const BLOCK_STORAGE: &str = "BlockStorage";
/// What is wrong with these does not matter: nobody reads them afterwards.
const REMOVED: [&str; 4] = ["secret-name", "secret-namespace", "kubeconfig-path", "use-octavia"];

/// Makes a cloud.conf that takes its credentials from a mounted clouds.yaml.
///
/// # Errors
///
/// If the platform is not OpenStack, if the text is not in gcfg's dialect, if a value is not of its kind, or if the
/// credentials are to be taken from a Secret that is not mounted. All places are told.
pub fn transform_openstack(
    text: &str,
    platform: &Platform,
    options: &OpenStackOptions,
) -> Result<Transformed, ConfigError> {
    if *platform != Platform::OpenStack {
        return Err(ConfigError::WrongPlatform { expected: "OpenStack" });
    }
    let ours = [
        ("use-clouds", "true"),
        ("clouds-file", options.clouds_file.as_str()),
        ("cloud", options.cloud.as_str()),
    ];
    let warnings = checked(text, &ours.map(|(key, _)| key))?;
    let mut ini = Ini::parse(text)?;
    let mut changes = Vec::new();
    old_credentials(&mut ini, options, &mut changes)?;
    let global = ini.section_or_new(GLOBAL);
    for (key, value) in ours {
        if let Some(line) = global.set(key, value) {
            changes.push(set(line, GLOBAL, key, value));
        }
    }
    for line in ini.remove_sections(BLOCK_STORAGE) {
        changes.push(Change { line, key: format!("[{BLOCK_STORAGE}]"), kind: ChangeKind::Removed });
    }
    load_balancer(&mut ini, &mut changes);
    Ok(Transformed { text: ini.text(), changes, warnings })
}

/// Checks a cloud.conf that is used as it is.
///
/// # Errors
///
/// All that is wrong in it, with lines and keys.
pub fn validate_openstack(text: &str) -> Result<Transformed, ConfigError> {
    let warnings = checked(text, &[])?;
    Ok(Transformed { warnings, ..Transformed::unchanged(text) })
}

fn set(line: Option<usize>, section: &str, key: &str, value: &str) -> Change {
    Change { line, key: format!("[{section}] {key}"), kind: ChangeKind::Set(value.to_owned()) }
}

/// Removes the reference to the Secret, which must be the one that is mounted. A key that is not there says nothing: so a
/// text in the new form is accepted.
fn old_credentials(
    ini: &mut Ini,
    options: &OpenStackOptions,
    changes: &mut Vec<Change>,
) -> Result<(), ConfigError> {
    let Some(global) = ini.section(GLOBAL) else { return Ok(()) };
    let defaults = [
        ("secret-name", options.secret_name.as_str()),
        ("secret-namespace", options.secret_namespace.as_str()),
        ("kubeconfig-path", ""),
    ];
    let wrong = |(key, default): &(&'static str, &str)| {
        // The last one counts.
        let entry = global.all(key).last()?;
        let is_default = entry.value.as_ref().is_some_and(|value| value.as_str() == *default);
        let wanted = if default.is_empty() { "remove it".to_owned() } else { format!("write {default}") };
        let what = format!("'[{GLOBAL}] {key}' is set to a non-default value; {wanted}");
        (!is_default).then(|| Problem { line: entry.line, key: Some(format!("[{GLOBAL}] {key}")), what })
    };
    let mut problems: Vec<Problem> = defaults.iter().filter_map(wrong).collect();
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.line);
        return Err(ConfigError::Invalid(problems));
    }
    let global = ini.section_or_new(GLOBAL);
    for (key, _) in defaults {
        changes.extend(removed(global.remove(key), GLOBAL, key));
    }
    Ok(())
}

fn removed(lines: Vec<Option<usize>>, section: &str, key: &str) -> impl Iterator<Item = Change> {
    let key = format!("[{section}] {key}");
    lines.into_iter().map(move |line| Change { line, key: key.clone(), kind: ChangeKind::Removed })
}

fn load_balancer(ini: &mut Ini, changes: &mut Vec<Change>) {
    let section = ini.section_or_new(LOAD_BALANCER);
    changes.extend(removed(section.remove("use-octavia"), LOAD_BALANCER, "use-octavia"));
    for (key, value) in [("max-shared-lb", "1"), ("manage-security-groups", "true")] {
        if section.all(key).next().is_none() {
            section.add(key, value);
            changes.push(set(None, LOAD_BALANCER, key, value));
        }
    }
}

/// Reads a text by the provider's schema and gives its warnings. What we overwrite in `[Global]`, or remove, may be wrong.
fn checked(text: &str, overwritten: &[&str]) -> Result<Vec<Problem>, ConfigError> {
    let gone = |problem: &Problem| {
        problem.key.as_ref().is_some_and(|key| {
            let is_ours = overwritten.iter().any(|name| *key == format!("[{GLOBAL}] {name}"));
            let is_removed = REMOVED.iter().any(|name| key.ends_with(&format!(" {name}")));
            is_ours || is_removed || key.starts_with("[BlockStorage]")
        })
    };
    let kept = |problems: Vec<provider::Problem>| -> Vec<Problem> {
        let ours = problems.into_iter().map(|problem| Problem {
            line: problem.position.map(|position| position.line),
            key: problem.key,
            what: problem.what,
        });
        ours.filter(|problem| overwritten.is_empty() || !gone(problem)).collect()
    };
    match decode(&[Source::new("cloud.conf", text)]) {
        Ok(decoded) => Ok(kept(decoded.warnings)),
        Err(problems) => match kept(problems.0) {
            errors if errors.is_empty() => Ok(Vec::new()),
            errors => Err(ConfigError::Invalid(errors)),
        },
    }
}
