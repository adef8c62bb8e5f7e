//! The options from which credentials are made: as cloud.conf, clouds.yaml or `OS_*` variables say them. Pure.
//!
//! An empty text is the same as none. What contradicts itself is refused here, with the names of the options, before
//! Keystone can answer "unauthorized" to everything.

use secrecy::{ExposeSecret, SecretString};

use super::{ApplicationCredential, Credentials, DomainRef, Method, ProjectRef, Scope, UserRef};
use crate::base_url::{BaseUrl, InvalidUrl};

/// What a person wrote about authentication.
#[derive(Debug, Clone, Default)]
pub struct AuthOptions {
    /// Keystone's address, with or without its version.
    pub auth_url: Option<String>,
    /// The user's name; needs a user domain.
    pub username: Option<String>,
    /// The user's id.
    pub user_id: Option<String>,
    /// The user's password.
    pub password: Option<SecretString>,
    /// A token that somebody else got.
    pub token: Option<SecretString>,
    /// The project's id.
    pub project_id: Option<String>,
    /// The project's name; needs a project domain.
    pub project_name: Option<String>,
    /// Stands in for a missing user and project domain; without a project it is the scope.
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
    /// Stands in for missing domains after all else; an id.
    pub default_domain: Option<String>,
    /// An application credential's id.
    pub application_credential_id: Option<String>,
    /// An application credential's name; needs a user.
    pub application_credential_name: Option<String>,
    /// An application credential's secret.
    pub application_credential_secret: Option<SecretString>,
    /// A trust, which then is the scope.
    pub trust_id: Option<String>,
    /// The user of the trust, in place of the user.
    pub trustee_id: Option<String>,
    /// The password of the user of the trust.
    pub trustee_password: Option<SecretString>,
    /// `all` asks for the whole cloud.
    pub system_scope: Option<String>,
}

/// Options that cannot be used together, or that lack something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthOptionsError {
    /// Keystone's address is of no use.
    #[error(transparent)]
    AuthUrl(#[from] InvalidUrl),
    /// Keystone v2 has been gone for years.
    #[error("auth_url: it names the identity API v2.0, which is not supported; give the address of v3")]
    IdentityV2,
    /// Nothing to prove who we are with.
    #[error(
        "no way to authenticate: give a password with a user, an application credential with its secret, or a token"
    )]
    NoMethod,
    /// Two methods at once.
    #[error("{0} and an application credential are both given; remove one of them")]
    TwoMethods(&'static str),
    /// An application credential has its scope built in.
    #[error("an application credential cannot be used with {0}: it has its project built in")]
    ScopedTwice(&'static str),
    /// A secret is missing.
    #[error("the application credential has no secret")]
    NoSecret,
    /// No user.
    #[error("{0} needs a user: give the user's name with its domain, or the user's id")]
    NoUser(&'static str),
    /// Two users.
    #[error("user name and user id (or trustee id) are both given; give exactly one of them")]
    TwoUsers,
    /// The user's domain is missing.
    #[error("the user name needs a user domain (its id or its name), or a domain that stands in for it")]
    NoUserDomain,
    /// The user's domain is there twice, or a user id has one.
    #[error("{0}")]
    UserDomain(&'static str),
    /// The project's domain is missing.
    #[error(
        "the project name needs a project domain (its id or its name), or a domain that stands in for it"
    )]
    NoProjectDomain,
    /// Nothing says what the token is for.
    #[error("{0} needs a scope: give a project, or a domain")]
    NoScope(&'static str),
}

/// Gives the options that are not there those of `other`.
macro_rules! fill {
    ($into:expr, $from:expr; $($field:ident)*) => {$(
        if given(&$into.$field).is_none() { $into.$field = $from.$field.clone(); }
    )*};
}

impl AuthOptions {
    /// Takes from `other` what is not there: cloud.conf wins over clouds.yaml, which wins over the environment.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        fill!(self, other; auth_url username user_id project_id project_name domain_id domain_name project_domain_id
            project_domain_name user_domain_id user_domain_name default_domain application_credential_id
            application_credential_name trust_id trustee_id system_scope);
        fill!(self, other; password token application_credential_secret trustee_password);
        self
    }

    /// The credentials that the options are.
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

    /// A token stands above a password: whoever has one needs no user.
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

    /// A user by id needs no domain; one that is given for the user itself is a contradiction, one that only stands in
    /// is not looked at.
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

    /// The domain that stands in for a missing one.
    fn stand_in(&self) -> Option<DomainRef> {
        domain_ref(given(&self.domain_id), given(&self.domain_name))
            .or_else(|| given(&self.default_domain).map(|id| DomainRef::Id(id.to_owned())))
    }
}

/// An id is preferred where both are there.
fn domain_ref(id: Option<&str>, name: Option<&str>) -> Option<DomainRef> {
    id.map(|id| DomainRef::Id(id.to_owned())).or_else(|| name.map(|name| DomainRef::Name(name.to_owned())))
}

/// An option that is really there.
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
