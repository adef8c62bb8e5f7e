//! Resolves the endpoints of services: the URL in the catalog, and the API version below it.

use super::{Client, Settings};
use crate::{Error, ErrorClass, Outcome, Service, auth::Token, base_url::BaseUrl, identity};

/// What the catalog contains for a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// No endpoint in the configured region and interface.
    Missing,
    /// An endpoint with TLS, or any endpoint of a cloud whose Keystone has no TLS either.
    Secure,
    /// An endpoint without TLS although Keystone has TLS: tokens would be sent in clear text.
    Insecure {
        /// Whether the settings allow it. If not, calls fail with [`ErrorClass::Insecure`].
        allowed: bool,
    },
}

/// A resolved endpoint, and the catalog URL that it was resolved from.
#[derive(Clone)]
pub(super) struct Endpoint {
    published: String,
    base: BaseUrl,
}

impl Client {
    /// The base URL of `service`. Resolved again when the catalog of the newest token has another URL, so an endpoint may move.
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

    /// The region in which endpoints are selected: the configured one, or that of the first endpoint in use. `None` (any region) before
    /// that.
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
            // Later catalogs may be in another order; the client must stay in the region that it used first.
            self.shared.region.get_or_init(|| region.to_owned());
        }
        Ok((url, base))
    }

    /// Whether a token that was issued over TLS would be sent without TLS. If Keystone itself has no TLS, there is nothing to protect.
    fn exposes_token(&self, endpoint: &BaseUrl) -> bool {
        self.shared.settings.credentials.auth_url.is_encrypted() && !endpoint.is_encrypted()
    }

    /// What the catalog contains for `service` in the configured region and interface.
    ///
    /// # Errors
    ///
    /// [`Error`] if Keystone issues no token.
    pub async fn offered(&self, service: Service) -> Result<Offered, Error> {
        let Settings { interface, insecure_endpoints, .. } = &self.shared.settings;
        let token = self.shared.session.token().await?;
        let Ok((url, _region)) = token.catalog.find(service, *interface, self.region()) else {
            return Ok(Offered::Missing);
        };
        // An invalid URL is reported by the first call.
        let exposed = BaseUrl::parse("endpoint", url).is_ok_and(|endpoint| self.exposes_token(&endpoint));
        Ok(if exposed { Offered::Insecure { allowed: *insecure_endpoints } } else { Offered::Secure })
    }

    /// The base URL of the resources. The catalog may publish an endpoint with or without its version.
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
            // Nova's version may be v2 or v2.1, and the project id may follow it.
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
