//! AWS: the keys that the provider knows, in its order, with OpenShift's defaults. Comments and keys that the provider does
//! not know do not survive; the latter are told.

#[cfg(test)]
mod tests;

use bowline_openstack::config::gcfg::equal_fold;

use super::ini::{Entry, Ini, Section};
use super::problem::{Change, ChangeKind, ConfigError, Problem, Transformed};
use crate::feature_gates::FeatureGates;

/// The gate behind which network load balancers get security groups of their own.
const NLB_GATE: &str = "AWSServiceLBNetworkSecurityGroup";
const PROBE_MODE: &str = "ClusterServiceLoadBalancerHealthProbeMode";
const NLB_MODE: &str = "NLBSecurityGroupMode";

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    List,
    Flag,
    Number,
}

/// The keys of `[Global]`, in the order in which they are written.
const GLOBAL: [(&str, Kind); 17] = [
    ("Zone", Kind::Text),
    ("Region", Kind::Text),
    ("VPC", Kind::Text),
    ("SubnetID", Kind::Text),
    ("RouteTableID", Kind::Text),
    ("RoleARN", Kind::Text),
    ("SourceARN", Kind::Text),
    ("KubernetesClusterTag", Kind::Text),
    ("KubernetesClusterID", Kind::Text),
    ("DisableSecurityGroupIngress", Kind::Flag),
    ("ElbSecurityGroup", Kind::Text),
    ("NodeIPFamilies", Kind::List),
    (PROBE_MODE, Kind::Text),
    ("ClusterServiceSharedLoadBalancerHealthProbePort", Kind::Number),
    ("ClusterServiceSharedLoadBalancerHealthProbePath", Kind::Text),
    ("SupportedTopologyInstanceTypePattern", Kind::Text),
    (NLB_MODE, Kind::Text),
];

/// The keys of `[ServiceOverride "id"]`.
const OVERRIDE: [(&str, Kind); 6] = [
    ("Service", Kind::Text),
    ("Region", Kind::Text),
    ("URL", Kind::Text),
    ("SigningRegion", Kind::Text),
    ("SigningMethod", Kind::Text),
    ("SigningName", Kind::Text),
];

/// Makes the configuration of AWS' cloud-controller-manager.
///
/// # Errors
///
/// If the text is not in gcfg's dialect, or a value is not of its kind. All places are told.
pub fn transform_aws(text: &str, gates: &FeatureGates) -> Result<Transformed, ConfigError> {
    let mut source = Ini::parse(text)?;
    let mut changes = Vec::new();
    let global = source.section_or_new("Global");
    if global.all(PROBE_MODE).all(|entry| entry.value.as_ref().is_none_or(|value| value.is_empty())) {
        global.set(PROBE_MODE, "Shared");
        changes.push(set(None, PROBE_MODE, "Shared"));
    }
    if gates.is_on(NLB_GATE)
        && let Some(line) = global.set(NLB_MODE, "Managed")
    {
        changes.push(set(line, NLB_MODE, "Managed"));
    }
    let mut writer = Writer { problems: Vec::new(), warnings: Vec::new(), out: Ini::default() };
    if let Some(global) = source.section("Global") {
        writer.section(global, "Global", None, &GLOBAL);
    }
    writer.overrides(&source);
    if !writer.problems.is_empty() {
        return Err(ConfigError::Invalid(writer.problems));
    }
    Ok(Transformed { text: writer.out.text(), changes, warnings: writer.warnings })
}

fn set(line: Option<usize>, key: &str, value: &str) -> Change {
    Change { line, key: format!("[Global] {key}"), kind: ChangeKind::Set(value.to_owned()) }
}

struct Writer {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    out: Ini,
}

impl Writer {
    fn overrides(&mut self, source: &Ini) {
        let mut overrides = Vec::new();
        for section in &source.sections {
            match &section.subsection {
                Some(id) if equal_fold(&section.name, "ServiceOverride") => overrides.push((id, section)),
                _ if section.is("Global") => {}
                _ => self.warnings.push(Problem {
                    line: section.line,
                    key: Some(format!("[{}]", section.name)),
                    what: "the provider has no such section; it is left out".to_owned(),
                }),
            }
        }
        overrides.sort_by_key(|(id, _)| *id);
        for (id, section) in overrides {
            self.section(section, "ServiceOverride", Some(id), &OVERRIDE);
        }
    }

    fn section(&mut self, source: &Section, name: &str, subsection: Option<&str>, keys: &[(&str, Kind)]) {
        let label = subsection.map_or_else(|| format!("[{name}]"), |id| format!("[{name} {id:?}]"));
        for entry in source.entries() {
            if !keys.iter().any(|(key, _)| equal_fold(&entry.key, key)) {
                self.warnings.push(Problem {
                    line: entry.line,
                    key: Some(format!("{label} {}", entry.key)),
                    what: "the provider has no such key; it is left out".to_owned(),
                });
            }
        }
        let mut section = Section::new(name, subsection);
        for (key, kind) in keys {
            for value in self.values(source, &label, key, *kind) {
                section.add(key, &value);
            }
        }
        self.out.sections.push(section);
    }

    /// What is written for a key: nothing for an empty text, zeros for what has no text.
    fn values(&mut self, source: &Section, label: &str, key: &str, kind: Kind) -> Vec<String> {
        let texts = |entry: &Entry| entry.value.as_ref().map(|value| value.to_string());
        let last = source.all(key).last();
        match kind {
            Kind::List => source.all(key).fold(Vec::new(), |mut list, entry| {
                match texts(entry) {
                    Some(text) => list.push(text),
                    // The key alone empties the list.
                    None => list.clear(),
                }
                list
            }),
            Kind::Text => last.and_then(texts).filter(|text| !text.is_empty()).into_iter().collect(),
            Kind::Flag => {
                let read = last.map_or(Some(false), |entry| flag(texts(entry).as_deref()));
                let wanted = "one of true, yes, on, 1, false, no, off, 0";
                self.scalar(read.map(|flag| flag.to_string()), last, label, key, wanted)
            }
            Kind::Number => {
                let number = |entry: &Entry| texts(entry).and_then(|text| text.trim().parse::<i32>().ok());
                let read = last.map_or(Some(0), number);
                self.scalar(read.map(|number| number.to_string()), last, label, key, "a whole number")
            }
        }
    }

    fn scalar(
        &mut self,
        read: Option<String>,
        entry: Option<&Entry>,
        label: &str,
        key: &str,
        wanted: &str,
    ) -> Vec<String> {
        if read.is_none() {
            let line = entry.and_then(|entry| entry.line);
            let key = Some(format!("{label} {key}"));
            self.problems.push(Problem { line, key, what: format!("wanted {wanted}") });
        }
        read.into_iter().collect()
    }
}

/// Yes or no, as gcfg reads it; the key alone is yes.
pub(super) fn flag(text: Option<&str>) -> Option<bool> {
    match text.map(str::to_lowercase).as_deref() {
        None | Some("true" | "yes" | "on" | "1") => Some(true),
        Some("false" | "no" | "off" | "0") => Some(false),
        Some(_) => None,
    }
}
