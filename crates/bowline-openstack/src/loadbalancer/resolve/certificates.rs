//! Whether a certificate is there before a listener is made with it: Octavia accepts any reference and fails later.

use openstack_client::{Error, ErrorClass};

use super::{Resolver, kind_of};
use crate::loadbalancer::annotations::clipped;
use crate::loadbalancer::found::{Children, Found};
use crate::loadbalancer::intent::{Intent, Stored, TlsReference};
use crate::loadbalancer::trouble::Trouble;
use crate::loadbalancer::wanted::{Wanted, WantedListener};

impl Resolver {
    /// Refuses a certificate that is not there. Only asked where a listener has yet to get it.
    pub(in crate::loadbalancer) async fn check_certificates(
        &self,
        intent: &Intent,
        wanted: &Wanted,
        found: &Found,
    ) -> Result<(), Trouble> {
        if !wanted.listeners.iter().any(|listener| lacks_certificate(listener, found)) {
            return Ok(());
        }
        let Some(reference) = intent.ports.iter().find_map(|port| port.tls.as_ref()) else { return Ok(()) };
        let Some(stored) = &reference.stored else { return Ok(()) };
        let read = || async {
            match self.stored(stored).await {
                Ok(()) => Ok(Some(())),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) if error.class() == ErrorClass::Unsupported => Err(no_store(reference)),
                Err(error) => Err(error.into()),
            }
        };
        match self.certificates.get(reference.text.clone(), read).await? {
            Some(()) => Ok(()),
            None => Err(Trouble::refused(format!(
                "the certificate {:?} names a {} that Barbican does not have, or does not show to us; correct \
                 default-tls-container-ref",
                clipped(&reference.text),
                kind_of(stored)
            ))),
        }
    }

    async fn stored(&self, stored: &Stored) -> Result<(), Error> {
        let barbican = self.client.key_manager();
        match stored {
            Stored::Container(id) => barbican.container(id).await.map(drop),
            Stored::Secret(id) => barbican.secret(id).await.map(drop),
        }
    }
}

fn no_store(reference: &TlsReference) -> Trouble {
    Trouble::refused(format!(
        "the certificate {:?} cannot be used: this cloud has no key manager; remove default-tls-container-ref",
        clipped(&reference.text)
    ))
}

/// Whether a listener has yet to get its certificate.
fn lacks_certificate(wanted: &WantedListener, found: &Found) -> bool {
    if wanted.certificate.is_none() {
        return false;
    }
    match found.balancer.as_ref().map(|at| &at.children) {
        Some(Children::AsWanted | Children::Busy) => false,
        Some(Children::Known(tree)) => !tree.listeners.iter().any(|listener| {
            listener.protocol_port == wanted.key.port
                && listener.protocol == wanted.key.protocol
                && listener.default_tls_container_ref == wanted.certificate
        }),
        None => true,
    }
}
