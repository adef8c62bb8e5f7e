//! Where services live: what the catalog publishes, and the version below it.

use super::{Client, Settings};
use crate::{Error, ErrorClass, Outcome, Service, auth::Token, base_url::BaseUrl, identity};

/// What a catalog has for a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// No endpoint in the region and interface that are set.
    Missing,
    /// An endpoint with TLS, or one in a cloud whose Keystone has no TLS either.
    Secure,
    /// An endpoint without TLS in a cloud whose Keystone has TLS: tokens would travel in clear.
    Insecure {
        /// Whether the settings allow it. If not, calls end in [`ErrorClass::Insecure`].
        allowed: bool,
    },
}

/// Where a service lives, and what the catalog said when that was found out.
#[derive(Clone)]
pub(super) struct Endpoint {
    published: String,
    base: BaseUrl,
}

impl Client {
    /// Where the resources of `service` live. Asked of the catalog of the newest token, so that a cloud may move.
    pub(super) async fn endpoint(&self, service: Service, token: &Token) -> Result<BaseUrl, Error> {
        if service == Service::Identity {
            return self.shared.session.keystone().await;
        }
        let (published, url) = self.published(service, token)?;
        if let Some(known) = self.known_endpoint(service, published) {
            return Ok(known);
        }
        let base = self.resolve(service, url, token).await?;
        let endpoint = Endpoint { published: published.to_owned(), base: base.clone() };
        self.shared.endpoints.lock().insert(service, endpoint);
        Ok(base)
    }

    fn known_endpoint(&self, service: Service, published: &str) -> Option<BaseUrl> {
        let endpoints = self.shared.endpoints.lock();
        endpoints.get(&service).filter(|known| known.published == published).map(|known| known.base.clone())
    }

    /// The region that services are looked for in; any, as long as none is set and none was used.
    pub(super) fn region(&self) -> Option<&str> {
        self.shared.settings.region.as_deref().or_else(|| self.shared.region.get().map(String::as_str))
    }

    pub(super) fn published<'t>(
        &self,
        service: Service,
        token: &'t Token,
    ) -> Result<(&'t str, BaseUrl), Error> {
        let (url, region) = token
            .catalog
            .find(service, self.shared.settings.interface, self.region())
            .map_err(|why| Error::new(ErrorClass::Unsupported, Outcome::NotSent, why))?;
        let base = BaseUrl::parse(&format!("the {service} endpoint in the catalog"), url)
            .map_err(|error| Error::invalid(error.to_string()))?;
        if self.exposes_token(&base) && !self.shared.settings.insecure_endpoints {
            let message = format!(
                "the catalog names {base} for {service}, without TLS, although Keystone is reached over TLS; the token is not sent \
                 there. Publish an https endpoint, or choose another interface or region"
            );
            return Err(Error::new(ErrorClass::Insecure, Outcome::NotSent, message));
        }
        if !region.is_empty() {
            // A later catalog may be in another order, and must not lead us to another region.
            self.shared.region.get_or_init(|| region.to_owned());
        }
        Ok((url, base))
    }

    /// Whether a token that came over TLS would leave without it. Where Keystone has no TLS there is nothing left to protect.
    fn exposes_token(&self, endpoint: &BaseUrl) -> bool {
        self.shared.settings.credentials.auth_url.is_encrypted() && !endpoint.is_encrypted()
    }

    /// What the catalog has for `service` in the region and the interface that are set.
    ///
    /// # Errors
    ///
    /// [`Error`] when Keystone gives no token.
    pub async fn offered(&self, service: Service) -> Result<Offered, Error> {
        let Settings { interface, insecure_endpoints, .. } = &self.shared.settings;
        let token = self.shared.session.token().await?;
        let Ok((url, _region)) = token.catalog.find(service, *interface, self.region()) else {
            return Ok(Offered::Missing);
        };
        // An address that cannot be read is reported by the first call.
        let exposed = BaseUrl::parse("endpoint", url).is_ok_and(|endpoint| self.exposes_token(&endpoint));
        Ok(if exposed { Offered::Insecure { allowed: *insecure_endpoints } } else { Offered::Secure })
    }

    /// The base below which resources live. An endpoint may be published with its version or without.
    async fn resolve(&self, service: Service, url: BaseUrl, token: &Token) -> Result<BaseUrl, Error> {
        if let Some(major) = url.major().filter(|major| *major != service.major()) {
            let wanted = service.major();
            return Err(Error::new(
                ErrorClass::Unsupported,
                Outcome::NotSent,
                format!("the catalog publishes version {major} of {service}, but version {wanted} is needed"),
            ));
        }
        match service {
            // Nova's version may be v2 or v2.1, and may be followed by the project.
            Service::Compute if url.major().is_some() => Ok(url),
            Service::Compute => {
                self.shared.settings.budget.acquire(service, self.priority).await;
                let versions = identity::list_versions(&self.shared.wire, service, &url, Some(token)).await?;
                let fitting = versions.iter().filter(|version| version.major() == Some(service.major()));
                let best = fitting.max_by_key(|version| (version.status.is_usable(), version.number()));
                let best = best.ok_or_else(|| {
                    let message = format!("{url} lists no version {} of {service}", service.major());
                    Error::new(ErrorClass::Unsupported, Outcome::Refused, message)
                })?;
                Ok(url.with_segment(best.segment.as_deref().unwrap_or(service.version_segment())))
            }
            _ => Ok(url.without_version().with_segment(service.version_segment())),
        }
    }
}
