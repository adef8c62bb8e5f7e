//! Parses a [`LeaderMigration`]: strict decoding first, then validation, which reports all problems together.
//!
//! Nothing is guessed: an unknown key may be the one that prevents two instances of a controller from running.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::DuplicateKeyPolicy;

use super::names::Names;
use super::{Component, LeaderMigration, MigrationError, Owner, Problem, Warning};

const KIND: &str = "LeaderMigrationConfiguration";
const STABLE: &str = "controllermanager.config.k8s.io/v1";
const WITH_RESOURCE_LOCK: [&str; 2] =
    ["controllermanager.config.k8s.io/v1beta1", "controllermanager.config.k8s.io/v1alpha1"];

/// The decoded configuration before validation.
#[derive(Debug)]
pub(super) struct Raw {
    resource_lock: Option<String>,
    lease_name: Option<String>,
    entries: Vec<RawEntry>,
}

/// The fields that every Kubernetes object has; all other keys are decoded in a second step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    api_version: Option<String>,
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stable {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    leader_name: Option<String>,
    controller_leaders: Option<Vec<RawEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WithResourceLock {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    resource_lock: Option<String>,
    leader_name: Option<String>,
    controller_leaders: Option<Vec<RawEntry>>,
}

/// Values are optional here, so that validation can report all that are missing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    name: Option<String>,
    component: Option<String>,
}

/// Decodes the text strictly, according to its API version.
pub(super) fn decode(text: &str) -> Result<Raw, MigrationError> {
    let header: Header = parse(text)?;
    match version(header)?.as_str() {
        STABLE => {
            let Stable { leader_name, controller_leaders, .. } = parse(text)?;
            let entries = controller_leaders.unwrap_or_default();
            Ok(Raw { resource_lock: None, lease_name: leader_name, entries })
        }
        _ => {
            let WithResourceLock { resource_lock, leader_name, controller_leaders, .. } = parse(text)?;
            let entries = controller_leaders.unwrap_or_default();
            Ok(Raw { resource_lock, lease_name: leader_name, entries })
        }
    }
}

/// The API version, if version and kind are supported.
fn version(header: Header) -> Result<String, MigrationError> {
    let [beta, alpha] = WITH_RESOURCE_LOCK;
    let mut problems = Vec::new();
    let version = given(header.api_version);
    if !version.as_deref().is_some_and(|found| [STABLE, beta, alpha].contains(&found)) {
        let wanted = format!("{STABLE}, {beta} or {alpha}");
        problems.push(Problem { key: "apiVersion".to_owned(), found: version.clone(), wanted });
    }
    let kind = given(header.kind);
    if kind.as_deref() != Some(KIND) {
        problems.push(Problem { key: "kind".to_owned(), found: kind, wanted: KIND.to_owned() });
    }
    match version {
        Some(version) if problems.is_empty() => Ok(version),
        _ => Err(MigrationError::Invalid(problems)),
    }
}

/// Validates the configuration.
pub(super) fn validate(raw: Raw, names: Names) -> Result<LeaderMigration, MigrationError> {
    let mut problems = Vec::new();
    check_resource_lock(raw.resource_lock, &mut problems);
    let lease_name = given(raw.lease_name);
    if lease_name.is_none() {
        let wanted = "the name of the Lease that both managers compete for".to_owned();
        problems.push(Problem { key: "leaderName".to_owned(), found: None, wanted });
    }
    let mut warnings = Vec::new();
    let mut owners = BTreeMap::new();
    for (index, entry) in raw.entries.into_iter().enumerate() {
        let Some((name, owner)) = checked(index, entry, &mut problems) else { continue };
        if !names.knows(&name) {
            warnings.push(Warning::UnknownController { name: name.clone(), known: names.all_canonical() });
        }
        place(index, names.canonical(&name), owner, &mut owners, &mut problems);
    }
    match lease_name {
        Some(lease_name) if problems.is_empty() => {
            Ok(LeaderMigration { lease_name, names, owners, warnings })
        }
        _ => Err(MigrationError::Invalid(problems)),
    }
}

/// Kubernetes no longer supports locks on Endpoints; a manager that used one would not see the Lease.
fn check_resource_lock(found: Option<String>, problems: &mut Vec<Problem>) {
    let Some(found) = given(found) else { return };
    let wanted = match found.as_str() {
        "leases" => return,
        "endpoints" => "leases: Kubernetes has no locks on Endpoints any more; both managers must use leases",
        _ => "leases",
    };
    problems.push(Problem { key: "resourceLock".to_owned(), found: Some(found), wanted: wanted.to_owned() });
}

/// The controller and owner of an entry, if the entry is complete.
fn checked(index: usize, entry: RawEntry, problems: &mut Vec<Problem>) -> Option<(String, Owner)> {
    let name = given(entry.name);
    if name.is_none() {
        let key = format!("controllerLeaders[{index}].name");
        problems.push(Problem { key, found: None, wanted: "the name of a controller".to_owned() });
    }
    let component = given(entry.component);
    let owner = component.as_deref().and_then(owner);
    if owner.is_none() {
        let key = format!("controllerLeaders[{index}].component");
        let wanted = "kube-controller-manager, cloud-controller-manager or *".to_owned();
        problems.push(Problem { key, found: component, wanted });
    }
    name.zip(owner)
}

fn owner(component: &str) -> Option<Owner> {
    [
        Owner::Any,
        Owner::Only(Component::KubeControllerManager),
        Owner::Only(Component::CloudControllerManager),
    ]
    .into_iter()
    .find(|owner| owner.name() == component)
}

/// Adds an entry. A file may list two spellings of a controller, for managers of two versions; both must have the same owner, or the
/// managers would disagree.
fn place(
    index: usize,
    canonical: &str,
    owner: Owner,
    owners: &mut BTreeMap<String, Owner>,
    problems: &mut Vec<Problem>,
) {
    let earlier = *owners.entry(canonical.to_owned()).or_insert(owner);
    if earlier != owner {
        let key = format!("controllerLeaders[{index}].component");
        let wanted =
            format!("{:?}, as an earlier entry says for the same controller ({canonical})", earlier.name());
        problems.push(Problem { key, found: Some(owner.name().to_owned()), wanted });
    }
}

/// As in every Kubernetes object, an empty string means that the value is not set.
fn given(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.is_empty())
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, MigrationError> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        // As in Kubernetes, an unquoted number or boolean is not a string.
        no_schema: true,
        // The message is logged on one line.
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| MigrationError::Malformed(said(&error)))
}

/// The message of a parse error. In the two most common cases the parser's own message is meant for programmers, so it is replaced.
fn said(error: &serde_saphyr::Error) -> String {
    let at = error
        .location()
        .map(|at| format!("line {}, column {}: ", at.line(), at.column()))
        .unwrap_or_default();
    match error.without_snippet() {
        serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
            format!("{at}unknown key {field:?}, accepted: {}", expected.join(", "))
        }
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("{at}the key {key:?} is given twice, accepted: once")
        }
        other => other.render_with_formatter(&serde_saphyr::UserMessageFormatter),
    }
}
