//! The rights of the manager as named templates, from the table that the shipped manifests come from.

use bowline_manager::rbac::{Rights, Rule, Scope};
use serde_json::{Value, json};

use crate::{PackagingError, yaml};

/// The names of objects that follow the chart's values.
const NAMES: [(&str, &str); 3] = [
    ("cloud-controller-manager", "{{ .Values.leaderElection.name }}"),
    ("cloud-controller-manager-ledger", "{{ .Values.leaderElection.name }}-ledger"),
    ("bowline-shadow-report", "{{ include `bowline.report` . }}"),
];

/// The text of `templates/_rights.tpl`.
///
/// # Errors
///
/// If a rule has no YAML.
pub fn rights() -> Result<String, PackagingError> {
    let all = Rights::common();
    let (one, shadow) = (all.of_one_identity(), all.of_shadow());
    let mut text =
        "{{/* Generated from crates/bowline-manager/src/rbac/table.rs by `cargo xtask gen`. Do not edit. */}}\n"
            .to_owned();
    for (name, rules, scope) in [
        ("cluster", &one, Scope::Cluster),
        ("lease", &one, Scope::LeaseNamespace),
        ("system", &one, Scope::SystemNamespace),
        ("shadow.cluster", &shadow, Scope::Cluster),
        ("shadow.system", &shadow, Scope::SystemNamespace),
        ("report", &all.of_report(), Scope::ReportNamespace),
    ] {
        let rules: Vec<Value> = rules.iter().filter(|rule| rule.scope == scope).map(policy).collect();
        let rules = yaml("rules", &Value::Array(rules))?;
        text.push_str(&format!("\n{{{{- define \"bowline.rights.{name}\" -}}}}\n{rules}{{{{- end }}}}\n"));
    }
    Ok(text)
}

fn policy(rule: &Rule) -> Value {
    let mut policy = json!({"apiGroups": [rule.group], "resources": [rule.resource], "verbs": rule.verbs});
    let names: Vec<&str> = rule.names.iter().map(|name| of_chart(name)).collect();
    if let (Some(policy), false) = (policy.as_object_mut(), names.is_empty()) {
        policy.insert("resourceNames".to_owned(), json!(names));
    }
    policy
}

fn of_chart(name: &str) -> &str {
    NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, ours)| ours)
}
