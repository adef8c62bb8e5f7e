//! Authentication: options resolve to credentials, credentials to a token request, and a session holds the token.
//!
//! All secrets are `SecretString`: `Debug` output does not contain them, and they are zeroised when dropped.

mod options;
mod request_body;
mod session;
mod token;

#[cfg(test)]
mod tests;

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

pub use self::{
    options::{AuthOptions, AuthOptionsError},
    token::TokenIdentity,
};
pub(crate) use self::{request_body::request_body, session::Session, token::Token};
use crate::base_url::BaseUrl;

/// Everything needed to request a token from Keystone, and to renew it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) auth_url: BaseUrl,
    /// The authentication method and its secret.
    pub method: Method,
    /// The scope of the token.
    pub scope: Scope,
}

impl Credentials {
    /// Scheme, host and port of Keystone, such as `https://keystone.example:5000`. Normalized: lower case, without the default port.
    #[must_use]
    pub fn auth_origin(&self) -> String {
        self.auth_url.origin()
    }
}

/// An authentication method of Keystone.
#[derive(Clone, Debug)]
pub enum Method {
    /// A user's password.
    Password {
        /// The user.
        user: UserRef,
        /// The password.
        password: SecretString,
    },
    /// A token issued to another client. It cannot be renewed when it expires.
    Token(SecretString),
    /// An application credential. Its project is fixed, so no scope is sent.
    ApplicationCredential {
        /// The application credential.
        credential: ApplicationCredential,
        /// Its secret.
        secret: SecretString,
    },
}

/// Compares secrets to detect changed credentials. The comparison is not constant-time, so it must not be used to verify a guess.
impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &SecretString, two: &SecretString| one.expose_secret() == two.expose_secret();
        match (self, other) {
            (Self::Password { user, password }, Self::Password { user: whose, password: new }) => {
                user == whose && same(password, new)
            }
            (Self::Token(token), Self::Token(new)) => same(token, new),
            (
                Self::ApplicationCredential { credential, secret },
                Self::ApplicationCredential { credential: which, secret: new },
            ) => credential == which && same(secret, new),
            _ => false,
        }
    }
}

impl Eq for Method {}

/// An application credential: by id, or by name and user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplicationCredential {
    /// By id.
    Id(String),
    /// By name; names are unique for each user.
    Name {
        /// The name.
        name: String,
        /// The user that owns it.
        user: UserRef,
    },
}

/// A user: by id, or by name and domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRef {
    /// By id.
    Id(String),
    /// By name in a domain.
    Name {
        /// The name.
        name: String,
        /// The domain.
        domain: DomainRef,
    },
}

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainRef {
    /// By id.
    Id(String),
    /// By name.
    Name(String),
}

/// A project: by id, or by name and domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectRef {
    /// By id.
    Id(String),
    /// By name in a domain.
    Name {
        /// The name.
        name: String,
        /// The domain.
        domain: DomainRef,
    },
}

/// The scope of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A project.
    Project(ProjectRef),
    /// A domain.
    Domain(DomainRef),
    /// The project and roles of a trust, by the trust's id.
    Trust(String),
    /// The whole cloud.
    System,
    /// The scope that the method implies: an application credential is bound to a project.
    OfMethod,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password { .. } => "password",
            Self::Token(_) => "token",
            Self::ApplicationCredential { .. } => "application credential",
        })
    }
}
