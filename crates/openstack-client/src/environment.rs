//! The `OS_*` variables of the `openstack` command line client. Callers pass the environment.

use secrecy::SecretString;

use crate::AuthOptions;

impl AuthOptions {
    /// The authentication options in the variables.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text =
            |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|text| !text.is_empty()));
        let secret = |names: &[&str]| text(names).map(SecretString::from);
        Self {
            auth_url: text(&["OS_AUTH_URL"]),
            username: text(&["OS_USERNAME"]),
            user_id: text(&["OS_USER_ID", "OS_USERID"]),
            password: secret(&["OS_PASSWORD"]),
            token: secret(&["OS_TOKEN", "OS_AUTH_TOKEN"]),
            project_id: text(&["OS_PROJECT_ID", "OS_TENANT_ID"]),
            project_name: text(&["OS_PROJECT_NAME", "OS_TENANT_NAME"]),
            domain_id: text(&["OS_DOMAIN_ID"]),
            domain_name: text(&["OS_DOMAIN_NAME"]),
            project_domain_id: text(&["OS_PROJECT_DOMAIN_ID"]),
            project_domain_name: text(&["OS_PROJECT_DOMAIN_NAME"]),
            user_domain_id: text(&["OS_USER_DOMAIN_ID"]),
            user_domain_name: text(&["OS_USER_DOMAIN_NAME"]),
            default_domain: text(&["OS_DEFAULT_DOMAIN", "OS_DEFAULT_DOMAIN_ID"]),
            application_credential_id: text(&["OS_APPLICATION_CREDENTIAL_ID"]),
            application_credential_name: text(&["OS_APPLICATION_CREDENTIAL_NAME"]),
            application_credential_secret: secret(&["OS_APPLICATION_CREDENTIAL_SECRET"]),
            trust_id: text(&["OS_TRUST_ID"]),
            trustee_id: None,
            trustee_password: None,
            system_scope: text(&["OS_SYSTEM_SCOPE"]),
        }
    }
}

/// The connection settings in the variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectionVariables {
    /// `OS_CLOUD`: the entry of clouds.yaml.
    pub cloud: Option<String>,
    /// `OS_REGION_NAME`
    pub region: Option<String>,
    /// `OS_INTERFACE` or `OS_ENDPOINT_TYPE`
    pub interface: Option<String>,
    /// `OS_CACERT`: the path of the CA certificates.
    pub ca_file: Option<String>,
    /// `OS_CERT`: the path of the client certificate.
    pub cert_file: Option<String>,
    /// `OS_KEY`: the path of the client's private key.
    pub key_file: Option<String>,
    /// `OS_INSECURE`: true if it is `1`, `true` or `yes`.
    pub insecure: bool,
}

impl ConnectionVariables {
    /// Reads the variables. Empty ones count as not set.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text =
            |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|text| !text.is_empty()));
        Self {
            cloud: text(&["OS_CLOUD"]),
            region: text(&["OS_REGION_NAME"]),
            interface: text(&["OS_INTERFACE", "OS_ENDPOINT_TYPE"]),
            ca_file: text(&["OS_CACERT"]),
            cert_file: text(&["OS_CERT"]),
            key_file: text(&["OS_KEY"]),
            insecure: text(&["OS_INSECURE"])
                .is_some_and(|text| matches!(text.to_lowercase().as_str(), "1" | "true" | "yes")),
        }
    }
}
