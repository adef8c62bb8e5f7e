//! Authentication options, as given by cloud.conf, clouds.yaml or `OS_*` variables, and how they resolve to credentials. Pure.
//!
//! An empty string counts as absent. Contradictory options are rejected here with the names of the options, because Keystone would answer
//! every request with an unspecific "unauthorized".

use secrecy::{ExposeSecret, SecretString};

use super::{ApplicationCredential, Credentials, DomainRef, Method, ProjectRef, Scope, UserRef};
use crate::base_url::{BaseUrl, InvalidUrl};

/// The authentication options as configured.
#[derive(Debug, Clone, Default)]
pub struct AuthOptions {
    /// Keystone's URL, with or without the version.
    pub auth_url: Option<String>,
    /// The user's name; needs a user domain.
    pub username: Option<String>,
    /// The user's id.
    pub user_id: Option<String>,
    /// The user's password.
    pub password: Option<SecretString>,
    /// A token issued to another client.
    pub token: Option<SecretString>,
    /// The project's id.
    pub project_id: Option<String>,
    /// The project's name; needs a project domain.
    pub project_name: Option<String>,
    /// Default for a missing user or project domain; without a project it is the scope.
    pub domain_id: Option<String>,
    /// As `domain_id`, by name.
    pub domain_name: Option<String>,
    /// The domain of the project.
    pub project_domain_id: Option<String>,
    /// The domain of the project, by name.
    pub project_domain_name: Option<String>,
    /// The domain of the user.
    pub user_domain_id: Option<String>,
    /// The domain of the user, by name.
    pub user_domain_name: Option<String>,
    /// An id: default for missing domains if neither `domain_id` nor `domain_name` is set.
    pub default_domain: Option<String>,
    /// An application credential's id.
    pub application_credential_id: Option<String>,
    /// An application credential's name; needs a user.
    pub application_credential_name: Option<String>,
    /// An application credential's secret.
    pub application_credential_secret: Option<SecretString>,
    /// The id of a trust, which becomes the scope.
    pub trust_id: Option<String>,
    /// The id of the trustee; replaces `user_id` if `trust_id` is set.
    pub trustee_id: Option<String>,
    /// The password of the trustee; defaults to `password`.
    pub trustee_password: Option<SecretString>,
    /// `all` requests system scope.
    pub system_scope: Option<String>,
}

/// Contradictory or incomplete options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthOptionsError {
    /// Keystone's URL is invalid.
    #[error(transparent)]
    AuthUrl(#[from] InvalidUrl),
    /// The URL names version 2 of the identity API, which is not supported.
    #[error("auth_url: it names the identity API v2.0, which is not supported; give the address of v3")]
    IdentityV2,
    /// No password, application credential or token is given.
    #[error(
        "no way to authenticate: give a password with a user, an application credential with its secret, or a token"
    )]
    NoMethod,
    /// Two authentication methods are given.
    #[error("{0} and an application credential are both given; remove one of them")]
    TwoMethods(&'static str),
    /// A scope is given for an application credential, which is already bound to a project.
    #[error("an application credential cannot be used with {0}: it has its project built in")]
    ScopedTwice(&'static str),
    /// The secret of the application credential is missing.
    #[error("the application credential has no secret")]
    NoSecret,
    /// The user is missing.
    #[error("{0} needs a user: give the user's name with its domain, or the user's id")]
    NoUser(&'static str),
    /// Both a user name and a user id are given.
    #[error("user name and user id (or trustee id) are both given; give exactly one of them")]
    TwoUsers,
    /// The user's domain is missing.
    #[error("the user name needs a user domain (its id or its name), or a domain that stands in for it")]
    NoUserDomain,
    /// The user domain is given twice, or together with a user id.
    #[error("{0}")]
    UserDomain(&'static str),
    /// The project's domain is missing.
    #[error(
        "the project name needs a project domain (its id or its name), or a domain that stands in for it"
    )]
    NoProjectDomain,
    /// The scope is missing.
    #[error("{0} needs a scope: give a project, or a domain")]
    NoScope(&'static str),
}

/// Fills each absent option of `$into` from `$from`.
macro_rules! fill {
    ($into:expr, $from:expr; $($field:ident)*) => {$(
        if given(&$into.$field).is_none() { $into.$field = $from.$field.clone(); }
    )*};
}

impl AuthOptions {
    /// Fills absent options from `other`. Callers chain it in order of precedence: cloud.conf, then clouds.yaml, then the environment.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        fill!(self, other; auth_url username user_id project_id project_name domain_id domain_name project_domain_id
            project_domain_name user_domain_id user_domain_name default_domain application_credential_id
            application_credential_name trust_id trustee_id system_scope);
        fill!(self, other; password token application_credential_secret trustee_password);
        self
    }

    /// Validates the options and turns them into credentials.
    ///
    /// # Errors
    ///
    /// [`AuthOptionsError`], which names the options that are missing or contradict each other.
    pub fn resolve(&self) -> Result<Credentials, AuthOptionsError> {
        let auth_url = BaseUrl::parse("auth_url", self.auth_url.as_deref().unwrap_or_default())?;
        if auth_url.major() == Some(2) {
            return Err(AuthOptionsError::IdentityV2);
        }
        let (method, scope) = match (given(&self.trust_id), self.has_application_credential()) {
            (Some(_), true) => return Err(AuthOptionsError::ScopedTwice("a trust")),
            (Some(trust), false) => (self.trustee()?, Scope::Trust(trust.to_owned())),
            (None, true) => (self.application_credential()?, Scope::OfMethod),
            (None, false) => (self.user_method()?, self.scope()?),
        };
        Ok(Credentials { auth_url, method, scope })
    }

    fn has_application_credential(&self) -> bool {
        given(&self.application_credential_id).is_some()
            || given(&self.application_credential_name).is_some()
            || given(&self.application_credential_secret).is_some()
    }

    fn application_credential(&self) -> Result<Method, AuthOptionsError> {
        if given(&self.password).is_some() {
            return Err(AuthOptionsError::TwoMethods("a password"));
        }
        if given(&self.token).is_some() {
            return Err(AuthOptionsError::TwoMethods("a token"));
        }
        let secret = given(&self.application_credential_secret).ok_or(AuthOptionsError::NoSecret)?.clone();
        let credential =
            match (given(&self.application_credential_id), given(&self.application_credential_name)) {
                (Some(id), _) => ApplicationCredential::Id(id.to_owned()),
                (None, Some(name)) => ApplicationCredential::Name {
                    name: name.to_owned(),
                    user: self.user("an application credential by name", given(&self.user_id))?,
                },
                (None, None) => return Err(AuthOptionsError::NoMethod),
            };
        Ok(Method::ApplicationCredential { credential, secret })
    }

    /// A token takes precedence over a password and needs no user.
    fn user_method(&self) -> Result<Method, AuthOptionsError> {
        if let Some(token) = given(&self.token) {
            return Ok(Method::Token(token.clone()));
        }
        let password = given(&self.password).ok_or(AuthOptionsError::NoMethod)?.clone();
        Ok(Method::Password { user: self.user("a password", given(&self.user_id))?, password })
    }

    fn trustee(&self) -> Result<Method, AuthOptionsError> {
        let password =
            given(&self.trustee_password).or(given(&self.password)).ok_or(AuthOptionsError::NoMethod)?;
        let id = given(&self.trustee_id).or(given(&self.user_id));
        Ok(Method::Password { user: self.user("a trust", id)?, password: password.clone() })
    }

    /// A user id needs no domain: an explicit user domain next to it is rejected, the default domains are ignored.
    fn user(&self, whose: &'static str, id: Option<&str>) -> Result<UserRef, AuthOptionsError> {
        let domain = (given(&self.user_domain_id), given(&self.user_domain_name));
        match (given(&self.username), id) {
            (Some(_), Some(_)) => Err(AuthOptionsError::TwoUsers),
            (None, None) => Err(AuthOptionsError::NoUser(whose)),
            (None, Some(_)) if domain != (None, None) => Err(AuthOptionsError::UserDomain(
                "a user id is given together with a user domain; remove the domain",
            )),
            (None, Some(id)) => Ok(UserRef::Id(id.to_owned())),
            (Some(_), None) if domain.0.is_some() && domain.1.is_some() => Err(AuthOptionsError::UserDomain(
                "the id and the name of the user domain are both given; give exactly one of them",
            )),
            (Some(name), None) => {
                let domain = domain_ref(domain.0, domain.1).or_else(|| self.stand_in());
                let domain = domain.ok_or(AuthOptionsError::NoUserDomain)?;
                Ok(UserRef::Name { name: name.to_owned(), domain })
            }
        }
    }

    fn scope(&self) -> Result<Scope, AuthOptionsError> {
        if let Some(id) = given(&self.project_id) {
            return Ok(Scope::Project(ProjectRef::Id(id.to_owned())));
        }
        if let Some(name) = given(&self.project_name) {
            let own = domain_ref(given(&self.project_domain_id), given(&self.project_domain_name));
            let domain = own.or_else(|| self.stand_in()).ok_or(AuthOptionsError::NoProjectDomain)?;
            return Ok(Scope::Project(ProjectRef::Name { name: name.to_owned(), domain }));
        }
        if let Some(domain) = domain_ref(given(&self.domain_id), given(&self.domain_name)) {
            return Ok(Scope::Domain(domain));
        }
        if given(&self.system_scope) == Some("all") {
            return Ok(Scope::System);
        }
        let method = if given(&self.token).is_some() { "a token" } else { "a password" };
        Err(AuthOptionsError::NoScope(method))
    }

    /// The default for a missing user or project domain.
    fn stand_in(&self) -> Option<DomainRef> {
        domain_ref(given(&self.domain_id), given(&self.domain_name))
            .or_else(|| given(&self.default_domain).map(|id| DomainRef::Id(id.to_owned())))
    }
}

/// Prefers the id if both are given.
fn domain_ref(id: Option<&str>, name: Option<&str>) -> Option<DomainRef> {
    id.map(|id| DomainRef::Id(id.to_owned())).or_else(|| name.map(|name| DomainRef::Name(name.to_owned())))
}

/// The value of an option; `None` if it is absent or empty.
fn given<T: Given>(option: &Option<T>) -> Option<&T::Shown> {
    option.as_ref().filter(|value| !value.is_blank()).map(Given::shown)
}

trait Given {
    type Shown: ?Sized;
    fn is_blank(&self) -> bool;
    fn shown(&self) -> &Self::Shown;
}

impl Given for String {
    type Shown = str;
    fn is_blank(&self) -> bool {
        self.is_empty()
    }
    fn shown(&self) -> &str {
        self
    }
}

impl Given for SecretString {
    type Shown = Self;
    fn is_blank(&self) -> bool {
        self.expose_secret().is_empty()
    }
    fn shown(&self) -> &Self {
        self
    }
}
