//! The kinds of values in vSphere's YAML, so that a wrong one is told with its line before the manager meets it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Read;
use crate::config::problem::{ConfigError, Problem};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "most is read only for the kinds of values")]
struct Config {
    global: Option<Connection>,
    vcenter: Option<BTreeMap<String, Option<Connection>>>,
    labels: Option<Labels>,
    nodes: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "most is read only for the kinds of values")]
struct Connection {
    insecure_flag: Option<bool>,
    api_disable: Option<bool>,
    user: Option<String>,
    password: Option<String>,
    server: Option<String>,
    port: Option<u16>,
    datacenters: Option<Vec<String>>,
    soap_roundtrip_count: Option<u32>,
    ca_file: Option<String>,
    thumbprint: Option<String>,
    secret_name: Option<String>,
    secret_namespace: Option<String>,
    secrets_directory: Option<String>,
    api_binding: Option<String>,
    ip_family: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "read only for the kinds of values")]
struct Labels {
    zone: Option<String>,
    region: Option<String>,
}

/// Reads YAML.
pub(super) fn read(text: &str) -> Result<Read, ConfigError> {
    let config: Config = serde_saphyr::from_str(text).map_err(|error| wrong(text, &error))?;
    let value: Value = serde_saphyr::from_str(text).map_err(|error| wrong(text, &error))?;
    let mut fields = match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    if let Some(global) = &config.global {
        global.put_flags(fields.get_mut("global"));
    }
    for (name, vcenter) in config.vcenter.iter().flatten() {
        if let Some(vcenter) = vcenter {
            vcenter.put_flags(fields.get_mut("vcenter").and_then(|vcenters| vcenters.get_mut(name)));
        }
    }
    Ok(Read { fields, changes: Vec::new() })
}

impl Connection {
    /// A flag may be written `yes`, which is a text to who does not know that it is a flag.
    fn put_flags(&self, fields: Option<&mut Value>) {
        let Some(fields) = fields.and_then(Value::as_object_mut) else { return };
        for (key, flag) in [("insecureFlag", self.insecure_flag), ("apiDisable", self.api_disable)] {
            if let Some(flag) = flag {
                fields.insert(key.to_owned(), Value::Bool(flag));
            }
        }
    }
}

/// The reader's own words may quote the text, which may hold a password; only the place is taken.
fn wrong(text: &str, error: &serde_saphyr::Error) -> ConfigError {
    let line = error.location().and_then(|at| usize::try_from(at.line()).ok());
    let key = line.and_then(|line| text.lines().nth(line.saturating_sub(1))).and_then(key_of);
    let what = "not the YAML of vSphere's cloud provider: a value is of the wrong kind, or the line is not indented as its neighbours";
    ConfigError::one(Problem { line, key, what: what.to_owned() })
}

fn key_of(line: &str) -> Option<String> {
    let (key, _) = line.split_once(':')?;
    let key = key.trim().trim_start_matches("- ").trim_matches('"');
    let is_name =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
    is_name.then(|| key.to_owned())
}
