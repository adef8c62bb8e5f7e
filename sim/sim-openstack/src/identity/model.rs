//! What Keystone knows.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// A domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Its identifier, `default` for the first.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its identifier.
    pub id: String,
    /// Its name, unique in its domain.
    pub name: String,
    /// Its domain.
    pub domain_id: String,
    /// What it is for.
    pub description: String,
    /// Whether it can be used.
    pub enabled: bool,
    /// Its tags.
    pub tags: Vec<String>,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its identifier.
    pub id: String,
    /// Its name, unique in its domain.
    pub name: String,
    /// Its domain.
    pub domain_id: String,
    /// Its password, in the clear: nothing here is secret.
    pub password: String,
    /// Whether it can log in.
    pub enabled: bool,
    /// The project it gets when it names none.
    pub default_project_id: Option<String>,
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether it is one of Keystone's own, which cannot be changed.
    pub immutable: bool,
}

/// What a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing but asking for another token.
    Unscoped,
    /// A project.
    Project(String),
    /// A project, by way of a trust.
    Trust {
        /// The trust.
        trust_id: String,
        /// Its project.
        project_id: String,
    },
}

impl Scope {
    /// The project, if there is one.
    #[must_use]
    pub fn project_id(&self) -> Option<&str> {
        match self {
            Self::Unscoped => None,
            Self::Project(id) | Self::Trust { project_id: id, .. } => Some(id),
        }
    }
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// How it was got.
    pub methods: Vec<String>,
    /// Whose it is.
    pub user_id: String,
    /// What it is for.
    pub scope: Scope,
    /// The identifiers of its roles.
    pub roles: Vec<String>,
    /// Its audit identifiers: its own, and that of the first token in the chain it was got by.
    pub audit_ids: Vec<String>,
    /// When it was made.
    pub issued_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// The application credential it was got with.
    pub application_credential_id: Option<String>,
}

/// An application credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationCredential {
    /// Its identifier.
    pub id: String,
    /// Its name, unique for its user.
    pub name: String,
    /// Its secret.
    pub secret: String,
    /// Its user.
    pub user_id: String,
    /// Its project.
    pub project_id: String,
    /// The identifiers of its roles.
    pub roles: Vec<String>,
    /// Whether it may make further credentials and trusts; nothing was said: no.
    pub unrestricted: Option<bool>,
    /// What it is for.
    pub description: Option<String>,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// A trust: one user lets another act for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// Its identifier.
    pub id: String,
    /// Who trusts.
    pub trustor_user_id: String,
    /// Who is trusted.
    pub trustee_user_id: String,
    /// In which project.
    pub project_id: String,
    /// Whether tokens look as if they were the trustor's.
    pub impersonation: bool,
    /// The identifiers of the roles.
    pub roles: Vec<String>,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// How many tokens can still be got.
    pub remaining_uses: Option<i64>,
}

/// Everything Keystone knows.
#[derive(Clone, Debug, Default)]
pub struct IdentityState {
    /// Domains by identifier.
    pub domains: BTreeMap<String, Domain>,
    /// Projects by identifier.
    pub projects: BTreeMap<String, Project>,
    /// Users by identifier.
    pub users: BTreeMap<String, User>,
    /// Roles by identifier.
    pub roles: BTreeMap<String, Role>,
    /// Who has which role where: user, project, role.
    pub assignments: BTreeSet<(String, String, String)>,
    /// Tokens by their text.
    pub tokens: BTreeMap<String, Token>,
    /// Application credentials by identifier.
    pub application_credentials: BTreeMap<String, ApplicationCredential>,
    /// Trusts by identifier.
    pub trusts: BTreeMap<String, Trust>,
}

impl IdentityState {
    /// A token that can be used now.
    #[must_use]
    pub fn valid_token(&self, text: &str, now: Timestamp) -> Option<&Token> {
        let token = self.tokens.get(text).filter(|token| now < token.expires_at)?;
        let user = self.users.get(&token.user_id).filter(|user| user.enabled)?;
        if self.lost_credential(token).is_some() {
            return None;
        }
        let project_usable = |id: &str| self.projects.get(id).is_some_and(|project| project.enabled);
        (user.enabled && token.scope.project_id().is_none_or(project_usable)).then_some(token)
    }

    /// The application credential a token was got with, if it is gone.
    #[must_use]
    pub fn lost_credential<'a>(&self, token: &'a Token) -> Option<&'a str> {
        let id = token.application_credential_id.as_deref()?;
        (!self.application_credentials.contains_key(id)).then_some(id)
    }

    /// The role of a name.
    #[must_use]
    pub fn role_named(&self, name: &str) -> Option<&Role> {
        self.roles.values().find(|role| role.name == name)
    }

    /// The identifiers of the roles a user has in a project; `admin` implies `manager`, that
    /// `member`, and that `reader`.
    #[must_use]
    pub fn roles_of(&self, user_id: &str, project_id: &str) -> Vec<String> {
        let assigned =
            self.assignments.iter().filter(|(user, project, _)| user == user_id && project == project_id);
        let mut roles: BTreeSet<String> = assigned.map(|(_, _, role)| role.clone()).collect();
        for (role, implied) in
            [("admin", "manager"), ("admin", "member"), ("manager", "member"), ("member", "reader")]
        {
            let (Some(role), Some(implied)) = (self.role_named(role), self.role_named(implied)) else {
                continue;
            };
            if roles.contains(&role.id) {
                roles.insert(implied.id.clone());
            }
        }
        roles.into_iter().collect()
    }

    /// The domain of an identifier or name.
    #[must_use]
    pub fn domain(&self, id: Option<&str>, name: Option<&str>) -> Option<&Domain> {
        match id {
            Some(id) => self.domains.get(id),
            None => self.domains.values().find(|domain| Some(domain.name.as_str()) == name),
        }
    }
}
