//! Azure's credentials put into its configuration, as OpenShift does before the manager starts. Shows no credential.

use std::fmt;

use serde_json::Value;
use zeroize::Zeroizing;

use super::azure::Object;
use super::problem::{ConfigError, Problem, Transformed};

/// The files of a mounted credential; `None` is a file that is not there.
#[derive(Clone, Default)]
pub struct AzureCredentials {
    /// `azure_client_id`.
    pub client_id: Option<String>,
    /// `azure_client_secret`.
    pub client_secret: Option<Zeroizing<String>>,
    /// `azure_federated_token_file`: a path, for workload identity.
    pub federated_token_file: Option<String>,
    /// `azure_tenant_id`.
    pub tenant_id: Option<String>,
}

impl fmt::Debug for AzureCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureCredentials")
            .field("client_id", &self.client_id)
            .field("federated_token_file", &self.federated_token_file)
            .field("tenant_id", &self.tenant_id)
            .finish_non_exhaustive()
    }
}

/// Why credentials cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// A file is missing.
    #[error("the credentials have no file {file}; add it to the Secret")]
    Missing {
        /// Its name.
        file: &'static str,
    },
    /// Both ways to prove who we are.
    #[error(
        "the credentials have both azure_client_secret and azure_federated_token_file; remove azure_client_secret to use workload identity, or the other to use the secret"
    )]
    Both,
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Puts credentials into a configuration. With `disable_managed_identity`, a managed identity that is configured is
/// switched off; else it is left, with a warning.
///
/// # Errors
///
/// If a file is missing, if both a secret and a token are there, or if the configuration is not a JSON object.
pub fn inject_azure_credentials(
    config: &str,
    credentials: &AzureCredentials,
    disable_managed_identity: bool,
) -> Result<Transformed, CredentialsError> {
    let missing = |file| move || CredentialsError::Missing { file };
    let client_id = credentials.client_id.as_deref().ok_or_else(missing("azure_client_id"))?;
    let mut object = Object::read(config)?;
    let mut warnings = Vec::new();
    object.fields.insert("aadClientId".to_owned(), Value::from(client_id));
    if let Some(identity) = object.fields.get_mut("useManagedIdentityExtension") {
        let is_on = identity.as_bool() == Some(true);
        if disable_managed_identity {
            *identity = Value::from(false);
        } else if is_on {
            let what = "it is true: the managed identity is used, not the credentials given";
            let key = Some("useManagedIdentityExtension".to_owned());
            warnings.push(Problem { line: None, key, what: what.to_owned() });
        }
    }
    match (&credentials.federated_token_file, &credentials.client_secret) {
        (Some(_), Some(_)) => return Err(CredentialsError::Both),
        (Some(token), None) => {
            let tenant = credentials.tenant_id.as_deref().ok_or_else(missing("azure_tenant_id"))?;
            object.fields.insert("tenantId".to_owned(), Value::from(tenant));
            object.fields.insert("aadFederatedTokenFile".to_owned(), Value::from(token.as_str()));
            object.fields.insert("useFederatedWorkloadIdentityExtension".to_owned(), Value::from(true));
        }
        (None, Some(secret)) => {
            object.fields.insert("aadClientSecret".to_owned(), Value::from(secret.as_str()));
        }
        (None, None) => return Err(missing("azure_client_secret")()),
    }
    Ok(Transformed { warnings, ..object.done()? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn credentials(secret: Option<&str>, token: Option<&str>, tenant: Option<&str>) -> AzureCredentials {
        AzureCredentials {
            client_id: Some("id".to_owned()),
            client_secret: secret.map(|secret| Zeroizing::new(secret.to_owned())),
            federated_token_file: token.map(str::to_owned),
            tenant_id: tenant.map(str::to_owned),
        }
    }

    fn injected(config: &str, credentials: &AzureCredentials, disable: bool) -> (Value, usize) {
        let done = inject_azure_credentials(config, credentials, disable).unwrap();
        (serde_json::from_str(&done.text).unwrap(), done.warnings.len())
    }

    #[test]
    fn a_secret_is_put_in() {
        let (found, warnings) = injected("{\"vmType\":\"vmss\"}", &credentials(Some("s"), None, None), false);
        assert_eq!(found, json!({ "vmType": "vmss", "aadClientId": "id", "aadClientSecret": "s" }));
        assert_eq!(warnings, 0);
    }

    #[test]
    fn a_token_is_put_in_with_its_tenant() {
        let (found, _) = injected("{}", &credentials(None, Some("/token"), Some("tenant")), true);
        let wanted = json!({
            "aadClientId": "id",
            "tenantId": "tenant",
            "aadFederatedTokenFile": "/token",
            "useFederatedWorkloadIdentityExtension": true,
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        let error = |credentials: &AzureCredentials| {
            inject_azure_credentials("{}", credentials, false).unwrap_err().to_string()
        };
        assert!(error(&AzureCredentials::default()).contains("azure_client_id"));
        assert!(error(&credentials(None, None, Some("t"))).contains("azure_client_secret"));
        assert!(error(&credentials(None, Some("/t"), None)).contains("azure_tenant_id"));
        let both = error(&credentials(Some("hunter2"), Some("/t"), Some("t")));
        assert!(
            both.contains("azure_client_secret") && both.contains("azure_federated_token_file"),
            "{both}"
        );
        assert!(!format!("{:?}", credentials(Some("hunter2"), None, None)).contains("hunter2"));
    }

    #[test]
    fn a_managed_identity_is_switched_off_only_when_told_and_where_it_is_there() {
        let ours = credentials(Some("s"), None, None);
        let (found, warnings) = injected("{\"useManagedIdentityExtension\":true}", &ours, true);
        assert_eq!((&found["useManagedIdentityExtension"], warnings), (&json!(false), 0));
        let (found, warnings) = injected("{\"useManagedIdentityExtension\":true}", &ours, false);
        assert_eq!((&found["useManagedIdentityExtension"], warnings), (&json!(true), 1));
        let (found, warnings) = injected("{}", &ours, true);
        assert_eq!((found.get("useManagedIdentityExtension"), warnings), (None, 0));
    }

    #[test]
    fn a_configuration_that_is_no_object_is_refused() {
        let error = inject_azure_credentials("", &credentials(Some("s"), None, None), false).unwrap_err();
        assert!(matches!(error, CredentialsError::Config(_)), "{error}");
    }
}
