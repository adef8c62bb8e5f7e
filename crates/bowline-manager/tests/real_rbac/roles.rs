//! The roles of the manifest, verb by verb: taken away from the real API server and given back.

use anyhow::Context;
use bowline_testkit::eventually;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::audit::Refusal;
use crate::harness::{ACCOUNT, Harness};

/// One verb of one rule of one role.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    /// The role's namespace; none for a ClusterRole.
    namespace: Option<String>,
    role: String,
    /// Who has it.
    subject_namespace: String,
    pub(crate) subject: String,
    rules: Vec<PolicyRule>,
    rule: usize,
    pub(crate) verb: String,
}

/// Every verb that the manifest grants, in its order.
pub(crate) fn grants(manifest: &str) -> anyhow::Result<Vec<Grant>> {
    let documents: Vec<Value> =
        manifest.split("---\n").skip(1).map(serde_saphyr::from_str).collect::<Result<_, _>>()?;
    let mut grants = Vec::new();
    for role in documents.iter().filter(|document| document["rules"].is_array()) {
        let is_bound = |binding: &&Value| {
            binding["roleRef"]["name"] == role["metadata"]["name"]
                && binding["roleRef"]["kind"] == role["kind"]
                && binding["metadata"]["namespace"] == role["metadata"]["namespace"]
        };
        let binding = documents.iter().find(is_bound).context("a role is bound")?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].clone())?;
        for (rule, policy) in rules.iter().enumerate() {
            for verb in &policy.verbs {
                grants.push(Grant {
                    namespace: text(&role["metadata"]["namespace"]),
                    role: text(&role["metadata"]["name"]).context("a name")?,
                    subject_namespace: text(&binding["subjects"][0]["namespace"]).context("a subject")?,
                    subject: text(&binding["subjects"][0]["name"]).context("a subject")?,
                    rules: rules.clone(),
                    rule,
                    verb: verb.clone(),
                });
            }
        }
    }
    Ok(grants)
}

impl Grant {
    fn policy(&self) -> &PolicyRule {
        &self.rules[self.rule]
    }

    /// The resource, with its subresource.
    pub(crate) fn resource(&self) -> &str {
        self.policy().resources.iter().flatten().next().map_or("", String::as_str)
    }

    /// Whether it is for what is kept for the next leader.
    pub(crate) fn is_of_the_ledger(&self) -> bool {
        self.policy().resource_names.iter().flatten().all(|name| name.ends_with("-ledger"))
            && self.policy().resource_names.is_some()
    }

    /// The controllers' account that has it; none for the process itself.
    pub(crate) fn account(&self) -> Option<&str> {
        (self.subject != ACCOUNT).then_some(self.subject.as_str())
    }

    /// Whether this refusal is for want of it.
    pub(crate) fn is_wanting_in(&self, refusal: &Refusal) -> bool {
        refusal.user() == self.user() && refusal.verb() == self.verb && refusal.resource() == self.resource()
    }

    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.subject_namespace, self.subject)
    }

    /// How the manager calls it.
    pub(crate) fn said_as(&self) -> String {
        let group = self.policy().api_groups.iter().flatten().next().map_or("", String::as_str);
        match group {
            "" => format!("{} {}", self.verb, self.resource()),
            group => format!("{} {}.{group}", self.verb, self.resource()),
        }
    }

    /// Takes the verb away, and waits until the API server knows.
    pub(crate) async fn take(&self, site: &Harness) -> anyhow::Result<()> {
        let mut rules = self.rules.clone();
        rules[self.rule].verbs.retain(|verb| *verb != self.verb);
        // A rule without verbs is none.
        rules.retain(|rule| !rule.verbs.is_empty());
        self.write(site, &rules).await?;
        self.is(site, false).await
    }

    /// Gives it back.
    pub(crate) async fn give_back(&self, site: &Harness) -> anyhow::Result<()> {
        self.write(site, &self.rules).await?;
        self.is(site, true).await
    }

    async fn write(&self, site: &Harness, rules: &[PolicyRule]) -> anyhow::Result<()> {
        let (patch, params) = (Patch::Merge(json!({ "rules": rules })), PatchParams::default());
        match &self.namespace {
            Some(namespace) => {
                Api::<Role>::namespaced(site.admin.clone(), namespace)
                    .patch(&self.role, &params, &patch)
                    .await?;
            }
            None => {
                Api::<ClusterRole>::all(site.admin.clone()).patch(&self.role, &params, &patch).await?;
            }
        }
        Ok(())
    }

    async fn is(&self, site: &Harness, allowed: bool) -> anyhow::Result<()> {
        let (resource, subresource) = match self.resource().split_once('/') {
            Some((resource, sub)) => (resource, Some(sub.to_owned())),
            None => (self.resource(), None),
        };
        let first = |list: &Option<Vec<String>>| list.iter().flatten().next().cloned();
        let attributes = ResourceAttributes {
            group: first(&self.policy().api_groups),
            resource: Some(resource.to_owned()),
            subresource,
            verb: Some(self.verb.clone()),
            namespace: self.namespace.clone(),
            name: first(&self.policy().resource_names),
            ..ResourceAttributes::default()
        };
        let spec = SubjectAccessReviewSpec {
            user: Some(self.user()),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews = Api::<SubjectAccessReview>::all(site.admin.clone());
        eventually(&format!("allowed={allowed} for {self:?}"), async || {
            let answer = reviews.create(&PostParams::default(), &review).await?;
            Ok((answer.status.is_some_and(|status| status.allowed) == allowed).then_some(()))
        })
        .await
    }
}
