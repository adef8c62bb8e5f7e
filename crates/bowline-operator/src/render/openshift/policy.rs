//! Admission policies that keep Services, and Azure's Nodes, from what the cloud would not survive. Each has a binding that denies.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
    Validation, Variable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::render::error::RenderError;
use crate::render::object::Object;

/// A policy and its binding.
pub(super) struct Policy {
    pub(super) name: &'static str,
    pub(super) binding: &'static str,
    pub(super) resource: &'static str,
    pub(super) operations: &'static [&'static str],
    /// What happens if an expression fails.
    pub(super) failure: Option<&'static str>,
    pub(super) condition: Option<(&'static str, String)>,
    pub(super) variables: Vec<(&'static str, String)>,
    /// Expressions that must hold, with what is said if they do not.
    pub(super) validations: Vec<(String, String)>,
}

impl Policy {
    /// The two objects.
    pub(super) fn objects(self) -> Result<[Object; 2], RenderError> {
        let binding = ValidatingAdmissionPolicyBinding {
            metadata: metadata(self.binding),
            spec: Some(ValidatingAdmissionPolicyBindingSpec {
                policy_name: Some(self.name.to_owned()),
                validation_actions: Some(vec!["Deny".to_owned()]),
                ..ValidatingAdmissionPolicyBindingSpec::default()
            }),
        };
        let policy = ValidatingAdmissionPolicy {
            metadata: metadata(self.name),
            spec: Some(self.spec()),
            status: None,
        };
        Ok([Object::cluster(&policy)?, Object::cluster(&binding)?])
    }

    fn spec(self) -> ValidatingAdmissionPolicySpec {
        let rule = NamedRuleWithOperations {
            api_groups: Some(vec![String::new()]),
            api_versions: Some(vec!["v1".to_owned()]),
            operations: Some(self.operations.iter().map(|word| (*word).to_owned()).collect()),
            resources: Some(vec![self.resource.to_owned()]),
            ..NamedRuleWithOperations::default()
        };
        let condition =
            |(name, expression): (&str, String)| vec![MatchCondition { name: name.to_owned(), expression }];
        let variables: Vec<_> = self
            .variables
            .into_iter()
            .map(|(name, expression)| Variable { name: name.to_owned(), expression })
            .collect();
        let validation = |(expression, message)| Validation {
            expression,
            message: Some(message),
            ..Validation::default()
        };
        ValidatingAdmissionPolicySpec {
            failure_policy: self.failure.map(str::to_owned),
            match_conditions: self.condition.map(condition),
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![rule]),
                ..MatchResources::default()
            }),
            validations: Some(self.validations.into_iter().map(validation).collect()),
            variables: Some(variables).filter(|all| !all.is_empty()),
            ..ValidatingAdmissionPolicySpec::default()
        }
    }
}

/// Variables of a policy on one annotation: its value now (`value`) and before (`before`), and whether it is new or different
/// (`changed`). An annotation that is not there has an empty value.
pub(super) fn annotation(key: &str) -> Vec<(&'static str, String)> {
    let value = |object: &str| format!("{object}.metadata.?annotations['{key}'].orValue('')");
    vec![
        ("value", value("object")),
        ("before", format!("oldObject == null ? '' : {}", value("oldObject"))),
        ("changed", "variables.value != '' && variables.value != variables.before".to_owned()),
    ]
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}
