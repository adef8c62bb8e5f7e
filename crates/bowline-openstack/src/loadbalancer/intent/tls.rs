//! The certificate with which a load balancer terminates TLS, as a reference to a store. Whether the certificate exists is not checked
//! here.

use std::sync::Arc;

use openstack_client::{ContainerId, SecretId};

use super::Surroundings;
use crate::loadbalancer::annotations::{self, Reader, clipped, is_short};

/// A reference to a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsReference {
    /// The reference as written by the user; Octavia gets it unchanged.
    pub text: String,
    /// The object in Barbican; `None` if `container-store` is another store, whose references cannot be checked.
    pub stored: Option<Stored>,
}

/// The kind of object that holds a certificate in Barbican.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// A container.
    Container(ContainerId),
    /// A secret.
    Secret(SecretId),
}

/// The value of `container-store` for which references are checked.
const BARBICAN: &str = "barbican";

/// The certificate of a Service. An empty annotation means none and overrides cloud.conf.
///
/// All ports of a Service share the reference, because there may be a thousand of them.
pub(super) fn reference(reader: &mut Reader<'_>, around: &Surroundings<'_>) -> Option<Arc<TlsReference>> {
    let row = &annotations::TLS_CONTAINER_REF;
    let annotated = reader.raw(row);
    let text = annotated.unwrap_or(&around.config.default_tls_container_ref);
    if text.is_empty() {
        return None;
    }
    let is_checked = around.config.container_store == BARBICAN;
    let stored = Some(text).filter(|text| is_checked && is_short(text)).and_then(in_barbican);
    if !is_short(text) || (is_checked && stored.is_none()) {
        match annotated {
            Some(text) => reader.wrong(row, text),
            None => reader.wrong_configured("LoadBalancer", row, &format!("{:?}", clipped(text))),
        }
        return None;
    }
    Some(Arc::new(TlsReference { text: text.to_owned(), stored }))
}

fn in_barbican(text: &str) -> Option<Stored> {
    let (before, id) = text.rsplit_once('/')?;
    match before.rsplit('/').next()? {
        "containers" => ContainerId::new(id).ok().map(Stored::Container),
        "secrets" => SecretId::new(id).ok().map(Stored::Secret),
        _ => None,
    }
}
