//! Which permissions are checked: the rows of the RBAC table that the enabled controllers and parts need, with the names and namespaces of
//! this process. Pure.

use std::fmt;

use bowline_controllers::registry::ControllerName;

use crate::rbac::{Part, Rights, Rule, SYSTEM_NAMESPACE, Scope};

/// The configuration of this process that decides which rows of the RBAC table apply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Situation {
    /// The enabled controllers.
    pub(crate) controllers: Vec<ControllerName>,
    /// Whether each controller uses its own ServiceAccount.
    pub(crate) own_accounts: bool,
    /// The namespace of the Leases.
    pub(crate) lease_namespace: String,
    /// The names of the Leases; empty without leader election.
    pub(crate) leases: Vec<String>,
    /// The name of the Lease that stores the ledger.
    pub(crate) ledger: String,
    /// Whether callers of the serving port are authenticated with the identity of this process.
    pub(crate) authentication: bool,
    /// Whether the client CAs for the serving port are read from the cluster.
    pub(crate) authorities: bool,
    /// The namespace and name of the report's ConfigMap; `None` without a report.
    pub(crate) report: Option<(String, String)>,
    /// Whether callers of the serving port are authorized with the identity of this process.
    pub(crate) authorization: bool,
}

/// One permission to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// The ServiceAccount that needs the permission; `None` is the process itself.
    pub(crate) account: Option<String>,
    pub(crate) verb: &'static str,
    pub(crate) group: &'static str,
    /// The resource, with `/subresource` if there is one.
    pub(crate) resource: &'static str,
    /// The namespace; `None` for a cluster-wide permission.
    pub(crate) namespace: Option<String>,
    /// The name of the object; `None` for all objects.
    pub(crate) name: Option<String>,
    /// The controllers or parts that need the permission, each with the reason.
    pub(crate) needed: Vec<(String, &'static str)>,
}

impl Question {
    /// The resource with its group, in the format of `kubectl auth can-i`.
    pub(crate) fn full_resource(&self) -> String {
        match (self.group, self.resource.split_once('/')) {
            ("", _) => self.resource.to_owned(),
            (group, None) => format!("{}.{group}", self.resource),
            (group, Some((resource, sub))) => format!("{resource}.{group}/{sub}"),
        }
    }

    fn asks_the_same_as(&self, other: &Self) -> bool {
        let key = |question: &Self| {
            let Self { account, verb, group, resource, namespace, name, .. } = question.clone();
            (account, verb, group, resource, namespace, name)
        };
        key(self) == key(other)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.full_resource())?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        if let Some(account) = &self.account {
            write!(f, " as ServiceAccount {SYSTEM_NAMESPACE}/{account}")?;
        }
        let needed: Vec<_> = self.needed.iter().map(|(part, why)| format!("{part}: {why}")).collect();
        write!(f, " ({})", needed.join("; "))
    }
}

/// The permissions to check, without duplicates.
pub(crate) fn questions(rights: &Rights, situation: &Situation) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for rule in rights.rules().iter().filter(|rule| situation.needs(&rule.part)) {
        for question in of_rule(rule, situation) {
            match questions.iter_mut().find(|known| known.asks_the_same_as(&question)) {
                Some(known) => known.needed.extend(question.needed),
                None => questions.push(question),
            }
        }
    }
    questions
}

impl Situation {
    fn needs(&self, part: &Part) -> bool {
        match part {
            Part::Informers | Part::Events | Part::Cluster | Part::Ledger => true,
            Part::Election => !self.leases.is_empty(),
            Part::Authentication => self.authentication,
            Part::Authorities => self.authorities,
            Part::Authorization => self.authorization,
            Part::Accounts => self.own_accounts,
            Part::Report => self.report.is_some(),
            Part::Controller { name, .. } => self.controllers.iter().any(|known| known.canonical == *name),
        }
    }

    /// The object names of a rule. The table has the default names of the Leases; the names configured for this process replace them.
    fn names(&self, rule: &Rule) -> Vec<Option<String>> {
        let named = |names: &[String]| names.iter().cloned().map(Some).collect();
        match rule.part {
            Part::Election if !rule.names.is_empty() => named(&self.leases),
            Part::Ledger if !rule.names.is_empty() => vec![Some(self.ledger.clone())],
            Part::Accounts if !(rule.resource == "serviceaccounts" && rule.verbs == ["create"]) => {
                let mut accounts: Vec<_> = self.controllers.iter().map(|name| name.client.clone()).collect();
                accounts.sort();
                accounts.dedup();
                named(&accounts)
            }
            Part::Report => self.report.iter().map(|(_namespace, name)| Some(name.clone())).collect(),
            _ if rule.names.is_empty() => vec![None],
            _ => named(&rule.names),
        }
    }
}

fn of_rule(rule: &Rule, situation: &Situation) -> Vec<Question> {
    let account = rule.part.account().filter(|_| situation.own_accounts);
    let namespace = match rule.scope {
        Scope::Cluster => None,
        Scope::LeaseNamespace => Some(situation.lease_namespace.clone()),
        Scope::SystemNamespace => Some(SYSTEM_NAMESPACE.to_owned()),
        Scope::ReportNamespace => situation.report.as_ref().map(|(namespace, _name)| namespace.clone()),
    };
    let names = situation.names(rule);
    let each = names.iter().flat_map(|name| rule.verbs.iter().map(move |verb| (name, verb)));
    each.map(|(name, verb)| Question {
        account: account.map(str::to_owned),
        verb,
        group: rule.group,
        resource: rule.resource,
        namespace: namespace.clone(),
        name: name.clone(),
        needed: vec![(rule.part.name().to_owned(), rule.why)],
    })
    .collect()
}
