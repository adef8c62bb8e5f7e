//! The certificate with which a load balancer ends TLS: a reference into a store. Whether it is there is not asked here.

use openstack_client::{ContainerId, SecretId};

use super::Surroundings;
use crate::loadbalancer::annotations::{self, Reader};

/// A reference to a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsReference {
    /// As it is written, and as Octavia gets it.
    pub text: String,
    /// What it names in Barbican; nothing if `container-store` is another store, where it cannot be checked.
    pub stored: Option<Stored>,
}

/// What a certificate is in Barbican.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// A container.
    Container(ContainerId),
    /// A secret.
    Secret(SecretId),
}

/// The store in which references are checked.
const BARBICAN: &str = "barbican";

/// The certificate of a Service. An annotation that is empty says: none.
pub(super) fn reference(reader: &mut Reader<'_>, around: &Surroundings<'_>) -> Option<TlsReference> {
    let row = &annotations::TLS_CONTAINER_REF;
    let annotated = reader.raw(row);
    let text = annotated.unwrap_or(&around.config.default_tls_container_ref);
    if text.is_empty() {
        return None;
    }
    let mut stored = None;
    if around.config.container_store == BARBICAN {
        stored = in_barbican(text);
        if stored.is_none() {
            match annotated {
                Some(text) => reader.wrong(row, text),
                None => reader.wrong_configured("LoadBalancer", row, &format!("{text:?}")),
            }
            return None;
        }
    }
    Some(TlsReference { text: text.to_owned(), stored })
}

fn in_barbican(text: &str) -> Option<Stored> {
    let (before, id) = text.rsplit_once('/')?;
    match before.rsplit('/').next()? {
        "containers" => ContainerId::new(id).ok().map(Stored::Container),
        "secrets" => SecretId::new(id).ok().map(Stored::Secret),
        _ => None,
    }
}
