//! Adopt-only mode for migrations (`--adopt-only`): no load balancer and no address is created, deleted or exchanged for any Service,
//! whatever the plan says. Existing load balancers are adopted: tags, members, annotations.
//!
//! A cluster under migration already has all its load balancers. A plan that creates one has failed to find the existing one; a plan that
//! deletes one may have matched a foreign one. Pure: the caller reports what was held back.

use std::fmt;

use bowline_cloud::shadow::Touch;
use bowline_cloud::{LoadBalancerStatus, StepFacts};

use crate::service::patch::same_status;

/// Why a change was held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAdopted {
    what: String,
}

impl NotAdopted {
    /// The removal of a load balancer. It is always held back, whatever it would delete.
    #[must_use]
    pub fn removal() -> Self {
        Self { what: "its load balancer would be removed".to_owned() }
    }
}

impl fmt::Display for NotAdopted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; this waits until the manager runs without --adopt-only", self.what)
    }
}

/// Checks the steps of a plan for a Service whose status is `shown`. `outlook` is the status after the plan; `None` if it is not known.
///
/// # Errors
///
/// [`NotAdopted`] if a step creates, deletes or moves something that clients reach, or if the address would change.
pub fn judge<'a>(
    steps: impl IntoIterator<Item = (&'a StepFacts, &'a str)>,
    shown: &LoadBalancerStatus,
    outlook: Option<&LoadBalancerStatus>,
) -> Result<(), NotAdopted> {
    let has_address = !shown.ingress.is_empty();
    for (step, reason) in steps {
        let did = match Touch::of(step, has_address) {
            Touch::Creates => "would be created",
            Touch::Deletes => "would be deleted",
            Touch::Readdresses => "would be led elsewhere or exchanged",
            Touch::Cuts | Touch::InPlace => continue,
        };
        return Err(NotAdopted { what: format!("{} {} {did} ({reason})", step.kind, step.target) });
    }
    match outlook.filter(|outlook| changes_address(shown, outlook)) {
        Some(outlook) => Err(NotAdopted {
            what: format!("its address would become {} in place of {}", words(outlook), words(shown)),
        }),
        None => Ok(()),
    }
}

/// Whether a Service that has an address in its status would get a different one.
#[must_use]
pub fn changes_address(shown: &LoadBalancerStatus, outlook: &LoadBalancerStatus) -> bool {
    !shown.ingress.is_empty() && !same_status(shown, outlook)
}

/// The addresses of a status, as text for messages.
#[must_use]
pub fn words(status: &LoadBalancerStatus) -> String {
    let one = |ingress: &bowline_cloud::Ingress| match (&ingress.ip, &ingress.hostname) {
        (Some(ip), None) => ip.to_string(),
        (Some(ip), Some(name)) => format!("{ip} ({name})"),
        (None, Some(name)) => name.to_string(),
        (None, None) => "nothing".to_owned(),
    };
    match status.ingress.as_slice() {
        [] => "none".to_owned(),
        all => all.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::shadow::{FLOATING_IP, LOAD_BALANCER};
    use bowline_cloud::{Ingress, SetChange, Verb};

    use super::*;

    fn at(ip: &str) -> LoadBalancerStatus {
        LoadBalancerStatus { ingress: vec![Ingress { ip: ip.parse().ok(), ..Ingress::default() }] }
    }

    fn judged(step: &StepFacts, shown: &LoadBalancerStatus) -> Result<(), String> {
        judge([(step, "because")], shown, None).map_err(|held| held.to_string())
    }

    #[test]
    fn what_makes_deletes_or_exchanges_what_users_reach_is_held_and_the_message_names_it() {
        let nothing = LoadBalancerStatus::default();
        for shown in [&at("192.0.2.1"), &nothing] {
            for (verb, kind) in [
                (Verb::Create, LOAD_BALANCER),
                (Verb::Delete, LOAD_BALANCER),
                (Verb::Create, FLOATING_IP),
                (Verb::Update, FLOATING_IP),
                (Verb::Delete, FLOATING_IP),
            ] {
                let held = judged(&StepFacts::new(verb, kind, "web"), shown).unwrap_err();
                assert!(held.contains(&format!("{kind} web")) && held.contains("(because)"), "{held}");
            }
        }
    }

    #[test]
    fn tags_members_and_listeners_pass() {
        let shown = at("192.0.2.1");
        let members = SetChange { before: 3, removed: 1 };
        for step in [
            StepFacts::new(Verb::Update, LOAD_BALANCER, "web"),
            StepFacts::new(Verb::Update, "pool", "web").replacing(members),
            StepFacts::new(Verb::Create, "listener", "web"),
        ] {
            assert_eq!(judged(&step, &shown), Ok(()));
        }
    }

    #[test]
    fn an_outlook_on_another_address_is_held_and_a_first_one_is_not() {
        let held = judge([], &at("192.0.2.1"), Some(&at("192.0.2.2"))).unwrap_err().to_string();
        assert!(held.contains("become 192.0.2.2 in place of 192.0.2.1"), "{held}");
        assert_eq!(judge([], &at("192.0.2.1"), Some(&at("192.0.2.1"))), Ok(()));
        assert_eq!(judge([], &LoadBalancerStatus::default(), Some(&at("192.0.2.2"))), Ok(()));
        assert_eq!(judge([], &at("192.0.2.1"), None), Ok(()));
    }
}
