//! Who we are to a cloud: options become credentials, credentials a request for a token, a token a session.
//!
//! Secrets are `SecretString` throughout: they are shown by no `Debug` and zeroised when dropped.

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

/// What is needed to get a token, and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) auth_url: BaseUrl,
    /// How we prove who we are.
    pub method: Method,
    /// What the token is for.
    pub scope: Scope,
}

impl Credentials {
    /// Scheme, host and port of Keystone, such as `https://keystone.example:5000`, in one form for the same place.
    #[must_use]
    pub fn auth_origin(&self) -> String {
        self.auth_url.origin()
    }
}

/// How we prove who we are.
#[derive(Clone, Debug)]
pub enum Method {
    /// A user's password.
    Password {
        /// The user.
        user: UserRef,
        /// The password.
        password: SecretString,
    },
    /// A token that somebody else got. When it runs out, nothing can renew it.
    Token(SecretString),
    /// An application credential, which has its scope built in.
    ApplicationCredential {
        /// Which.
        credential: ApplicationCredential,
        /// Its secret.
        secret: SecretString,
    },
}

/// Whether both prove the same: for telling whether credentials were changed, never for judging a guess.
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
        /// Whose it is.
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

/// What a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A project.
    Project(ProjectRef),
    /// A domain.
    Domain(DomainRef),
    /// What a trust gives.
    Trust(String),
    /// The whole cloud.
    System,
    /// What the method itself says: an application credential has its project.
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
