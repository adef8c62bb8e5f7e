//! Evaluates rules reviews, and decides which of them are worth requesting. Pure.
//!
//! A rules review can only prove that a permission is granted. A permission that is not in the list is checked by itself, because an
//! authorizer need not list its rules.

use std::collections::BTreeMap;

use k8s_openapi::api::authorization::v1::ResourceRule;

use super::Question;

/// With fewer checks than this, a rules review costs as much as the checks themselves.
const WORTH_A_LIST: usize = 2;

/// The identity and namespace of a rules review. `account` is a ServiceAccount, or `None` for the process itself; `namespace` is `None` for
/// cluster-wide rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) account: Option<String>,
    pub(crate) namespace: Option<String>,
}

impl Place {
    /// The rules review that covers a question.
    pub(super) fn of(question: &Question) -> Self {
        Self { account: question.account.clone(), namespace: question.namespace.clone() }
    }
}

/// The rules reviews that replace at least [`WORTH_A_LIST`] checks each.
pub(super) fn places<'a>(questions: impl IntoIterator<Item = &'a Question>) -> Vec<Place> {
    let mut places: BTreeMap<Place, usize> = BTreeMap::new();
    for question in questions {
        *places.entry(Place::of(question)).or_default() += 1;
    }
    places.into_iter().filter(|(_, count)| *count >= WORTH_A_LIST).map(|(place, _)| place).collect()
}

/// Whether one of the rules grants the permission.
pub(super) fn grant(rules: &[ResourceRule], question: &Question) -> bool {
    rules.iter().any(|rule| grants(rule, question))
}

fn grants(rule: &ResourceRule, question: &Question) -> bool {
    let any_of = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
    let of_subresource = |(_, sub): (&str, &str)| {
        let pattern = format!("*/{sub}");
        rule.resources.iter().flatten().any(|one| *one == pattern)
    };
    let names = rule.resource_names.as_deref().unwrap_or_default();
    any_of(&rule.verbs, question.verb)
        && any_of(rule.api_groups.as_deref().unwrap_or_default(), question.group)
        && (any_of(rule.resources.as_deref().unwrap_or_default(), question.resource)
            || question.resource.split_once('/').is_some_and(of_subresource))
        && (names.is_empty() || question.name.as_ref().is_some_and(|name| names.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> ResourceRule {
        let list = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        ResourceRule {
            verbs: list(verbs),
            api_groups: Some(list(groups)),
            resources: Some(list(resources)),
            resource_names: Some(list(names)).filter(|names| !names.is_empty()),
        }
    }

    fn question(resource: &'static str, name: Option<&str>) -> Question {
        Question {
            account: None,
            verb: "update",
            group: "",
            resource,
            namespace: None,
            name: name.map(str::to_owned),
            needed: Vec::new(),
        }
    }

    #[test]
    fn a_rule_grants_what_it_names_and_nothing_else() {
        let exact = rule(&["get", "update"], &["", "apps"], &["nodes", "nodes/status"], &[]);
        assert!(grant(std::slice::from_ref(&exact), &question("nodes", None)));
        assert!(grant(std::slice::from_ref(&exact), &question("nodes/status", Some("n"))));
        assert!(!grant(std::slice::from_ref(&exact), &question("services", None)));
        assert!(!grant(std::slice::from_ref(&exact), &question("nodes/proxy", None)));
        assert!(!grant(
            std::slice::from_ref(&exact),
            &Question { verb: "delete", ..question("nodes", None) }
        ));
        assert!(!grant(&[exact], &Question { group: "batch", ..question("nodes", None) }));
        assert!(!grant(&[], &question("nodes", None)));
    }

    #[test]
    fn stars_stand_for_everything_of_their_kind() {
        assert!(grant(&[rule(&["*"], &["*"], &["*"], &[])], &question("nodes/status", None)));
        assert!(grant(&[rule(&["update"], &[""], &["*/status"], &[])], &question("nodes/status", None)));
        assert!(!grant(&[rule(&["update"], &[""], &["*/status"], &[])], &question("nodes", None)));
        assert!(!grant(&[rule(&["update"], &[""], &["*/status"], &[])], &question("nodes/proxy", None)));
    }

    #[test]
    fn a_rule_for_some_names_grants_these_alone() {
        let named = [rule(&["update"], &[""], &["nodes"], &["a", "b"])];
        assert!(grant(&named, &question("nodes", Some("a"))));
        assert!(!grant(&named, &question("nodes", Some("c"))));
        assert!(!grant(&named, &question("nodes", None)), "all of them is more than some");
    }

    #[test]
    fn a_single_question_is_asked_by_itself() {
        let here = Question { namespace: Some("kube-system".to_owned()), ..question("nodes", None) };
        let asked = [question("nodes", None), question("services", None), here];
        assert_eq!(places(&asked), [Place { account: None, namespace: None }]);
    }
}
