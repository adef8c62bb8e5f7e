//! The body of a token request. Secrets are exposed as text only here; the buffer is zeroised when the request is done.

use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{ApplicationCredential, Credentials, DomainRef, Method, ProjectRef, Scope, UserRef};

#[derive(Serialize)]
struct Envelope<'a> {
    auth: Auth<'a>,
}

#[derive(Serialize)]
struct Auth<'a> {
    identity: Identity<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeBody<'a>>,
}

#[derive(Serialize, Default)]
struct Identity<'a> {
    methods: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<PasswordBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<TokenBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    application_credential: Option<CredentialBody<'a>>,
}

#[derive(Serialize)]
struct PasswordBody<'a> {
    user: UserBody<'a>,
}

#[derive(Serialize)]
struct TokenBody<'a> {
    id: Exposed<'a>,
}

#[derive(Serialize)]
struct CredentialBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<UserBody<'a>>,
    secret: Exposed<'a>,
}

#[derive(Serialize, Default)]
struct UserBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<DomainBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<Exposed<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum DomainBody<'a> {
    Id(&'a str),
    Name(&'a str),
}

#[derive(Serialize)]
enum ScopeBody<'a> {
    #[serde(rename = "project")]
    Project {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        domain: Option<DomainBody<'a>>,
    },
    #[serde(rename = "domain")]
    Domain(DomainBody<'a>),
    #[serde(rename = "OS-TRUST:trust")]
    Trust { id: &'a str },
    #[serde(rename = "system")]
    System { all: bool },
}

/// Serializes a secret in clear text.
struct Exposed<'a>(&'a SecretString);

impl Serialize for Exposed<'_> {
    fn serialize<S: serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(self.0.expose_secret())
    }
}

/// The body of `POST /v3/auth/tokens` for these credentials.
pub(crate) fn request_body(credentials: &Credentials) -> Result<Bytes, serde_json::Error> {
    let auth = Auth { identity: identity(&credentials.method), scope: scope(&credentials.scope) };
    // Large enough for any body: if the buffer grew, the old allocation would be freed without being zeroised.
    let mut text = Zeroizing::new(Vec::with_capacity(64 * 1024));
    serde_json::to_writer(&mut *text, &Envelope { auth })?;
    Ok(Bytes::from_owner(text))
}

fn identity(method: &Method) -> Identity<'_> {
    match method {
        Method::Password { user, password } => Identity {
            methods: ["password"],
            password: Some(PasswordBody {
                user: UserBody { password: Some(Exposed(password)), ..user_body(user) },
            }),
            ..Identity::default()
        },
        Method::Token(token) => Identity {
            methods: ["token"],
            token: Some(TokenBody { id: Exposed(token) }),
            ..Identity::default()
        },
        Method::ApplicationCredential { credential, secret } => {
            let (id, name, user) = match credential {
                ApplicationCredential::Id(id) => (Some(id.as_str()), None, None),
                ApplicationCredential::Name { name, user } => {
                    (None, Some(name.as_str()), Some(user_body(user)))
                }
            };
            let body = CredentialBody { id, name, user, secret: Exposed(secret) };
            Identity {
                methods: ["application_credential"],
                application_credential: Some(body),
                ..Identity::default()
            }
        }
    }
}

fn user_body(user: &UserRef) -> UserBody<'_> {
    match user {
        UserRef::Id(id) => UserBody { id: Some(id), ..UserBody::default() },
        UserRef::Name { name, domain } => {
            UserBody { name: Some(name), domain: Some(domain_body(domain)), ..UserBody::default() }
        }
    }
}

fn domain_body(domain: &DomainRef) -> DomainBody<'_> {
    match domain {
        DomainRef::Id(id) => DomainBody::Id(id),
        DomainRef::Name(name) => DomainBody::Name(name),
    }
}

fn scope(scope: &Scope) -> Option<ScopeBody<'_>> {
    Some(match scope {
        Scope::Project(ProjectRef::Id(id)) => ScopeBody::Project { id: Some(id), name: None, domain: None },
        Scope::Project(ProjectRef::Name { name, domain }) => {
            ScopeBody::Project { id: None, name: Some(name), domain: Some(domain_body(domain)) }
        }
        Scope::Domain(domain) => ScopeBody::Domain(domain_body(domain)),
        Scope::Trust(id) => ScopeBody::Trust { id },
        Scope::System => ScopeBody::System { all: true },
        Scope::OfMethod => return None,
    })
}
