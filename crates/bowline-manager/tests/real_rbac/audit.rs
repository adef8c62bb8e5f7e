//! What the API server refused, from its audit log: who asked for what, and about which object.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Harness;

/// Only requests of ServiceAccounts, which is what managers are.
pub(crate) fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
            {"level": "None"},
        ],
    })
}

/// The audit log from some moment on.
pub(crate) struct Since(usize);

impl Since {
    pub(crate) fn now(site: &Harness) -> Self {
        Self(text(site).len())
    }

    /// All requests since then that were refused for lack of a right.
    pub(crate) fn refusals(&self, site: &Harness) -> Vec<Refusal> {
        let text = text(site);
        let lines = text.get(self.0..).unwrap_or_default().lines();
        // The last line may be half written.
        let requests = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        requests.filter(|request| request["responseStatus"]["code"] == 403).map(Refusal).collect()
    }
}

fn text(site: &Harness) -> String {
    fs::read_to_string(site.cluster.audit_log()).unwrap_or_default()
}

/// A refused request.
#[derive(Debug)]
pub(crate) struct Refusal(Value);

impl Refusal {
    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn user(&self) -> &str {
        self.text("/user/username")
    }

    pub(crate) fn verb(&self) -> &str {
        self.text("/verb")
    }

    /// The resource, with its subresource.
    pub(crate) fn resource(&self) -> String {
        match self.text("/objectRef/subresource") {
            "" => self.text("/objectRef/resource").to_owned(),
            sub => format!("{}/{sub}", self.text("/objectRef/resource")),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.text("/objectRef/name")
    }

    /// Which client of the manager sent it.
    pub(crate) fn is_from(&self, client: &str) -> bool {
        self.text("/userAgent").ends_with(client)
    }
}
