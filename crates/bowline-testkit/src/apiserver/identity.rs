//! Who a test is to the API server, and the kubeconfig that says so.
//!
//! Every identity is a real one: a client certificate or a token that the server itself has issued. Nothing here
//! impersonates, because impersonation would hide a missing right behind the admin's.

use std::path::Path;

use serde_json::{Value, json};

use super::pki::CertifiedFiles;

/// Somebody who talks to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// May do everything (a client certificate of the group `system:masters`).
    Admin,
    /// A ServiceAccount with a token from the TokenRequest API; it is created if it is missing. Has no rights until a
    /// role is bound to it.
    ServiceAccount {
        /// The namespace, which must exist.
        namespace: String,
        /// The name of the ServiceAccount.
        name: String,
    },
    /// A user with a client certificate. Has no rights until a role is bound to the name or the group.
    User {
        /// The user name.
        name: String,
        /// The one group that the certificate names.
        group: Option<String>,
    },
    /// Nobody: no credentials at all.
    Anonymous,
}

impl Identity {
    /// The ServiceAccount `name` in `namespace`.
    pub fn service_account(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ServiceAccount { namespace: namespace.into(), name: name.into() }
    }

    /// The user `name`, in no group but the one of everybody who is known to the server.
    pub fn user(name: impl Into<String>) -> Self {
        Self::User { name: name.into(), group: None }
    }
}

/// What proves an identity.
pub(crate) enum Credentials {
    Certificate(CertifiedFiles),
    Token(String),
    None,
}

/// A kubeconfig document. It is JSON, which every reader of kubeconfigs takes, being YAML as well.
pub(crate) fn kubeconfig(url: &str, authority_file: Option<&Path>, credentials: &Credentials) -> Value {
    let user = match credentials {
        Credentials::Certificate(files) => {
            json!({ "client-certificate": files.certificate, "client-key": files.key })
        }
        Credentials::Token(token) => json!({ "token": token }),
        Credentials::None => json!({}),
    };
    let cluster = match authority_file {
        Some(file) => json!({ "server": url, "certificate-authority": file }),
        None => json!({ "server": url }),
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "test", "cluster": cluster }],
        "users": [{ "name": "test", "user": user }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        "current-context": "test",
    })
}
