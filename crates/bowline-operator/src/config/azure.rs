//! Azure and Azure Stack Hub: a JSON object (YAML is read too), some of whose keys get OpenShift's values. Keys that nobody
//! here knows are kept.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::problem::{Change, ChangeKind, ConfigError, Problem, Transformed};
use crate::infrastructure::PlatformStatus;
use crate::platform::Platform;

const PUBLIC: &str = "AzurePublicCloud";
const STACK: &str = "AzureStackCloud";
const CLOUDS: [&str; 5] = ["AzureChinaCloud", "AzureGermanCloud", PUBLIC, STACK, "AzureUSGovernmentCloud"];

/// Makes the configuration of Azure's cloud-controller-manager.
///
/// # Errors
///
/// If the platform is another one, the cloud's name is not known, the text is not a JSON object, or it names another cloud.
pub fn transform_azure(text: &str, status: &PlatformStatus) -> Result<Transformed, ConfigError> {
    let cloud = cloud_of(status)?;
    if cloud == STACK {
        return Err(ConfigError::WrongCloud { expected: PUBLIC });
    }
    if !CLOUDS.contains(&cloud) {
        let supported = CLOUDS.map(|name| format!("{name:?}")).join(", ");
        return Err(ConfigError::UnsupportedCloud { found: cloud.to_owned(), supported });
    }
    let mut object = Object::read(text)?;
    let named = object.text("cloud")?.filter(|named| !named.is_empty());
    if named.is_some_and(|named| !named.eq_ignore_ascii_case(cloud)) {
        let what = format!(
            "invalid user-provided cloud.conf: \"cloud\" field in user-provided cloud.conf conflicts with infrastructure object, which says {cloud}"
        );
        return Err(object.wrong("cloud", &what));
    }
    object.set("cloud", cloud);
    object.default_vm_type()?;
    object.set("clusterServiceLoadBalancerHealthProbeMode", "shared");
    object.done()
}

/// Makes the configuration of the cloud-controller-manager on Azure Stack Hub.
///
/// # Errors
///
/// If the platform is another one, or the text is not a JSON object.
pub fn transform_azure_stack_hub(text: &str, status: &PlatformStatus) -> Result<Transformed, ConfigError> {
    if cloud_of(status)? != STACK {
        return Err(ConfigError::WrongCloud { expected: STACK });
    }
    let mut object = Object::read(text)?;
    object.default_vm_type()?;
    object.done()
}

fn cloud_of(status: &PlatformStatus) -> Result<&str, ConfigError> {
    if status.platform != Platform::Azure {
        return Err(ConfigError::WrongPlatform { expected: "Azure" });
    }
    let named = status.azure.as_ref().map_or("", |azure| azure.cloud_name.as_str());
    Ok(if named.is_empty() { PUBLIC } else { named })
}

/// A JSON object with the text it came from, for lines.
pub(super) struct Object<'a> {
    text: &'a str,
    pub(super) fields: Map<String, Value>,
    changes: Vec<Change>,
}

impl<'a> Object<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, ConfigError> {
        let wrong = |line: Option<usize>, what: &str| {
            ConfigError::one(Problem { line, key: None, what: what.to_owned() })
        };
        let value: Value = if text.trim_start().starts_with('{') || text.trim().is_empty() {
            // The reader's own words may quote the text.
            serde_json::from_str(text)
                .map_err(|error| wrong(Some(error.line().max(1)), "wanted a JSON object here"))?
        } else {
            serde_saphyr::from_str(text).map_err(|error| {
                let line = error.location().and_then(|at| usize::try_from(at.line()).ok());
                wrong(line, "neither JSON nor YAML")
            })?
        };
        match value {
            Value::Object(fields) => Ok(Self { text, fields, changes: Vec::new() }),
            _ => Err(wrong(Some(1), "wanted an object with keys, such as {\"cloud\": \"AzurePublicCloud\"}")),
        }
    }

    /// The field of this name in any case, as Go reads it.
    fn name(&self, key: &str) -> Option<String> {
        let exact = self.fields.contains_key(key).then(|| key.to_owned());
        exact.or_else(|| self.fields.keys().find(|name| name.eq_ignore_ascii_case(key)).cloned())
    }

    fn text(&self, key: &str) -> Result<Option<&str>, ConfigError> {
        match self.name(key).and_then(|name| self.fields.get(&name)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "wanted a text in double quotes")),
        }
    }

    pub(super) fn set(&mut self, key: &str, value: &str) {
        let before = self.name(key).and_then(|name| self.fields.remove(&name));
        if before.as_ref().and_then(Value::as_str) != Some(value) {
            let line = before.and_then(|_| line_of(self.text, key));
            let kind = ChangeKind::Set(value.to_owned());
            self.changes.push(Change { line, key: key.to_owned(), kind });
        }
        self.fields.insert(key.to_owned(), Value::from(value));
    }

    fn default_vm_type(&mut self) -> Result<(), ConfigError> {
        if self.text("vmType")?.is_none_or(str::is_empty) {
            self.set("vmType", "standard");
        }
        Ok(())
    }

    fn wrong(&self, key: &str, what: &str) -> ConfigError {
        let line = line_of(self.text, key);
        ConfigError::one(Problem { line, key: Some(key.to_owned()), what: what.to_owned() })
    }

    pub(super) fn done(self) -> Result<Transformed, ConfigError> {
        let text = serde_json::to_string(&Value::Object(self.fields)).map_err(|error| {
            ConfigError::one(Problem::of_text(format!("cannot be written as JSON: {error}")))
        })?;
        Ok(Transformed { text: Zeroizing::new(text), changes: self.changes, warnings: Vec::new() })
    }
}

/// The line of a key of the outermost object, in JSON or YAML.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let (mut depth, mut line) = (0_usize, 1);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => line += 1,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' => {
                let mut escaped = false;
                let closed = chars.by_ref().find(|(_, c)| {
                    let is_end = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    is_end
                });
                let word = closed.and_then(|(end, _)| text.get(at + 1..end)).unwrap_or_default();
                let rest = closed.and_then(|(end, _)| text.get(end + 1..)).unwrap_or_default();
                if depth <= 1 && word.eq_ignore_ascii_case(key) && rest.trim_start().starts_with(':') {
                    return Some(line);
                }
            }
            _ => {}
        }
    }
    let is_key = |line: &str| line.split_once(':').is_some_and(|(name, _)| name.eq_ignore_ascii_case(key));
    text.lines().position(is_key).map(|index| index + 1)
}
