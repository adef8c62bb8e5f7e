//! The INI text that the provider inside Kubernetes read, as YAML fields. Sections that only it used are dropped.

use bowline_openstack::config::gcfg::equal_fold;
use serde_json::{Map, Value, json};

use super::Read;
use crate::config::aws::flag;
use crate::config::ini::{Entry, Ini, Section};
use crate::config::problem::{Change, ChangeKind, ConfigError, Problem};

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    Number,
    List,
}

const CONNECTION: [(&str, &str, Kind); 15] = [
    ("user", "user", Kind::Text),
    ("password", "password", Kind::Text),
    ("server", "server", Kind::Text),
    ("port", "port", Kind::Number),
    ("insecure-flag", "insecureFlag", Kind::Flag),
    ("datacenters", "datacenters", Kind::List),
    ("soap-roundtrip-count", "soapRoundtripCount", Kind::Number),
    ("ca-file", "caFile", Kind::Text),
    ("thumbprint", "thumbprint", Kind::Text),
    ("secret-name", "secretName", Kind::Text),
    ("secret-namespace", "secretNamespace", Kind::Text),
    ("secrets-directory", "secretsDirectory", Kind::Text),
    ("api-disable", "apiDisable", Kind::Flag),
    ("api-binding", "apiBinding", Kind::Text),
    ("ip-family", "ipFamily", Kind::List),
];

const LABELS: [(&str, &str, Kind); 2] = [("zone", "zone", Kind::Text), ("region", "region", Kind::Text)];

const NODES: [(&str, &str, Kind); 6] = [
    ("internal-network-subnet-cidr", "internalNetworkSubnetCidr", Kind::Text),
    ("external-network-subnet-cidr", "externalNetworkSubnetCidr", Kind::Text),
    ("internal-vm-network-name", "internalVmNetworkName", Kind::Text),
    ("external-vm-network-name", "externalVmNetworkName", Kind::Text),
    ("exclude-internal-network-subnet-cidr", "excludeInternalNetworkSubnetCidr", Kind::Text),
    ("exclude-external-network-subnet-cidr", "excludeExternalNetworkSubnetCidr", Kind::Text),
];

/// Reads INI.
pub(super) fn read(text: &str) -> Result<Read, ConfigError> {
    let mut reader = Reader { changes: Vec::new(), problems: Vec::new() };
    let mut fields = Map::new();
    let mut vcenters = Map::new();
    for section in &Ini::parse(text)?.sections {
        if section.is("Global") {
            fields.insert("global".to_owned(), reader.fields(section, &CONNECTION));
        } else if section.is("Labels") {
            reader.unless_empty(&mut fields, "labels", section, &LABELS);
        } else if section.is("Nodes") {
            reader.unless_empty(&mut fields, "nodes", section, &NODES);
        } else if let Some(name) =
            section.subsection.as_ref().filter(|_| equal_fold(&section.name, "VirtualCenter"))
        {
            let mut vcenter = reader.fields(section, &CONNECTION);
            if let Value::Object(fields) = &mut vcenter {
                fields.entry("server").or_insert_with(|| json!(name));
            }
            vcenters.insert(name.clone(), vcenter);
        } else {
            let key = format!("[{}]", section.name);
            reader.changes.push(Change { line: section.line, key, kind: ChangeKind::Removed });
        }
    }
    if !reader.problems.is_empty() {
        return Err(ConfigError::Invalid(reader.problems));
    }
    fields.entry("global").or_insert_with(|| json!({}));
    fields.insert("vcenter".to_owned(), Value::Object(vcenters));
    Ok(Read { fields, changes: reader.changes })
}

struct Reader {
    changes: Vec<Change>,
    problems: Vec<Problem>,
}

impl Reader {
    fn unless_empty(
        &mut self,
        fields: &mut Map<String, Value>,
        name: &str,
        section: &Section,
        table: &[(&str, &str, Kind)],
    ) {
        let found = self.fields(section, table);
        if found.as_object().is_some_and(|found| !found.is_empty()) {
            fields.insert(name.to_owned(), found);
        }
    }

    fn fields(&mut self, section: &Section, table: &[(&str, &str, Kind)]) -> Value {
        let label = match &section.subsection {
            None => format!("[{}]", section.name),
            Some(name) => format!("[{} {name:?}]", section.name),
        };
        let mut fields = Map::new();
        for entry in section.entries() {
            let key = format!("{label} {}", entry.key);
            match table.iter().find(|(name, ..)| equal_fold(&entry.key, name)) {
                None => self.changes.push(Change { line: entry.line, key, kind: ChangeKind::Removed }),
                Some((_, yaml, kind)) => match value(entry, *kind) {
                    Ok(Some(value)) => {
                        fields.insert((*yaml).to_owned(), value);
                    }
                    // Nothing said is what is said of a key that is not there.
                    Ok(None) => {
                        fields.remove(*yaml);
                    }
                    Err(wanted) => {
                        let what = format!("wanted {wanted}");
                        self.problems.push(Problem { line: entry.line, key: Some(key), what });
                    }
                },
            }
        }
        Value::Object(fields)
    }
}

fn value(entry: &Entry, kind: Kind) -> Result<Option<Value>, &'static str> {
    let text = entry.value.as_ref().map(|value| value.as_str());
    let filled = text.filter(|text| !text.is_empty());
    match kind {
        Kind::Text => Ok(filled.map(Value::from)),
        Kind::Flag => {
            let flag = flag(text).ok_or("one of true, yes, on, 1, false, no, off, 0")?;
            Ok(flag.then_some(Value::Bool(true)))
        }
        Kind::Number => {
            let read = filled.map(|text| text.trim().parse::<u32>()).transpose();
            Ok(read
                .map_err(|_| "a whole number without a sign")?
                .filter(|number| *number > 0)
                .map(Value::from))
        }
        Kind::List => {
            let parts = filled.into_iter().flat_map(|text| text.split(',')).map(str::trim);
            let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            Ok((!parts.is_empty()).then(|| json!(parts)))
        }
    }
}
