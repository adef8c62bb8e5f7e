//! What a person can do about a Service, from what is known of it. Pure.

use bowline_cloud::picture::BalancerPicture;
use bowline_cloud::shadow::Verdict;
use bowline_cloud::{PAUSED, ServiceView};

use crate::explain::said::Condition;
use crate::status::leader::Leader;

/// What is known of a Service.
#[derive(Debug)]
pub struct Known<'a> {
    /// The Service.
    pub service: &'a ServiceView,
    /// What would be done.
    pub verdict: Verdict,
    /// Whether somebody asked the cloud; not where we have no right to.
    pub looked: bool,
    /// How many Nodes would get its traffic, if it is known.
    pub nodes: Option<usize>,
    /// What is there.
    pub picture: Option<&'a BalancerPicture>,
    /// What the manager last said on it.
    pub condition: Option<&'a Condition>,
    /// Who works on it.
    pub leader: &'a Leader,
    /// Whether there are ids of requests.
    pub has_request_ids: bool,
}

/// All advice that there is for Services.
pub const RULES: &[(&str, Rule)] = &[
    ("no-manager-works", no_manager_works),
    ("identity-lost", identity_lost),
    ("cluster-paused", cluster_paused),
    ("paused", paused),
    ("refused", refused),
    ("not-looked-at", not_looked_at),
    ("cloud-silent", cloud_silent),
    ("cloud-at-work", cloud_at_work),
    ("quota", quota),
    ("sync-failed", sync_failed),
    ("removal-failed", removal_failed),
    ("cloud-not-observed", cloud_not_observed),
    ("not-adopted", not_adopted),
    ("create-held", create_held),
    ("resync", resync),
    ("no-nodes", no_nodes),
    ("all-members-fail", all_members_fail),
    ("some-members-fail", some_members_fail),
    ("request-ids", request_ids),
];

/// From what is known to words; none where the advice does not apply.
pub type Rule = fn(&Known<'_>) -> Option<String>;

/// What to do, the most important first. Nothing, if all is well.
#[must_use]
pub fn advice(known: &Known<'_>) -> Vec<String> {
    RULES.iter().filter_map(|(_kind, rule)| rule(known)).collect()
}

fn no_manager_works(known: &Known<'_>) -> Option<String> {
    super::no_manager_works(known.leader)
}

fn identity_lost(known: &Known<'_>) -> Option<String> {
    super::identity_lost(known.leader)
}

fn cluster_paused(known: &Known<'_>) -> Option<String> {
    super::cluster_paused(known.leader)
}

fn paused(known: &Known<'_>) -> Option<String> {
    let ServiceView { namespace, name, .. } = known.service;
    (known.verdict == Verdict::Paused)
        .then(|| format!("it is paused: kubectl annotate -n {namespace} service {name} {PAUSED}-"))
}

fn refused(known: &Known<'_>) -> Option<String> {
    let words =
        "correct what is refused above on the Service or in the cloud; the manager looks again by itself";
    matches!(known.verdict, Verdict::Refused | Verdict::Blocked).then(|| words.to_owned())
}

/// What the manager says is all that somebody knows who may not ask the cloud.
fn not_looked_at(known: &Known<'_>) -> Option<String> {
    let words = "what would be done now is not known here: rely on what the manager says above, or ask somebody who has the rights that the notes name";
    (known.verdict == Verdict::Unknown && !known.looked).then(|| words.to_owned())
}

fn cloud_silent(known: &Known<'_>) -> Option<String> {
    let words = "the cloud did not answer: check it and the credentials, see kubectl bowline doctor";
    (known.verdict == Verdict::Unknown && known.looked).then(|| words.to_owned())
}

fn cloud_at_work(known: &Known<'_>) -> Option<String> {
    let words = "wait: the cloud is at work. If it stays so for long, its operator can look up the load balancer by its id";
    (known.verdict == Verdict::Waits).then(|| words.to_owned())
}

/// The message of the manager's condition, if it has this reason.
fn said<'a>(known: &Known<'a>, reason: &str) -> Option<&'a str> {
    known.condition.filter(|condition| condition.reason == reason).map(|condition| condition.message.as_str())
}

/// Whether a failure is one of the quota, in the words of Octavia (403) and Neutron (409).
fn is_of_quota(message: &str) -> bool {
    message.to_ascii_lowercase().contains("quota")
}

fn quota(known: &Known<'_>) -> Option<String> {
    let words = "the quota of the project is used up: have it raised (openstack loadbalancer quota show, openstack quota show), or remove what nobody uses (kubectl bowline drift)";
    said(known, "SyncFailed").filter(|message| is_of_quota(message)).map(|_message| words.to_owned())
}

fn sync_failed(known: &Known<'_>) -> Option<String> {
    let ServiceView { namespace, name, .. } = known.service;
    said(known, "SyncFailed").filter(|message| !is_of_quota(message))?;
    Some(format!(
        "the last try failed, as the manager says above, and is made again with a growing pause; once its cause is gone: kubectl bowline resync -n {namespace} svc/{name}"
    ))
}

fn removal_failed(known: &Known<'_>) -> Option<String> {
    let words = "its load balancer could not be removed, and the Service stays until it is: see to what the cloud says above; the manager tries again by itself";
    said(known, "RemovalFailed").map(|_message| words.to_owned())
}

/// We see what the manager did not see.
fn cloud_not_observed(known: &Known<'_>) -> Option<String> {
    let words = "the cloud did not answer the manager, and answers here: compare its credentials and its network with yours, see kubectl bowline doctor";
    let seen = known.looked && known.verdict != Verdict::Unknown;
    said(known, "CloudNotObserved").filter(|_message| seen).map(|_message| words.to_owned())
}

fn not_adopted(known: &Known<'_>) -> Option<String> {
    let words =
        "the manager runs with --adopt-only and holds this back; end that mode, or accept what it shows";
    said(known, "NotAdopted").map(|_message| words.to_owned())
}

fn create_held(known: &Known<'_>) -> Option<String> {
    let words = "something is made again and again and not found again: look for leftovers with kubectl bowline drift";
    said(known, "CreateHeld").map(|_message| words.to_owned())
}

/// Something is to do and somebody works: the manager may not have seen it.
fn resync(known: &Known<'_>) -> Option<String> {
    let ServiceView { namespace, name, .. } = known.service;
    let to_do = matches!(
        known.verdict,
        Verdict::Deletes | Verdict::Readdresses | Verdict::Creates | Verdict::Changes
    );
    let Leader { problem, paused, identity_lost, .. } = known.leader;
    let works = problem.is_none() && paused.is_none() && identity_lost.is_none();
    // Then it has been said.
    let failed = said(known, "SyncFailed").is_some_and(|message| !is_of_quota(message));
    (to_do && works && !failed)
        .then(|| format!("let the manager look at it now: kubectl bowline resync -n {namespace} svc/{name}"))
}

fn no_nodes(known: &Known<'_>) -> Option<String> {
    let words = "no Node can get its traffic: they are excluded by a label, not chosen by its node-selector, being removed, or there are none; see kubectl bowline status";
    (known.nodes == Some(0) && known.verdict != Verdict::Paused).then(|| words.to_owned())
}

/// The load balancer is as asked, and nobody answers behind it.
fn all_members_fail(known: &Known<'_>) -> Option<String> {
    let words = "all members fail their health check: check the pods and endpoints of the Service, its node ports, and the security groups of the Nodes";
    let (bad, all) = known.picture.map(failing)?;
    (bad > 0 && bad == all).then(|| words.to_owned())
}

fn some_members_fail(known: &Known<'_>) -> Option<String> {
    let (bad, all) = known.picture.map(failing)?;
    (bad > 0 && bad < all).then(|| {
        format!(
            "{bad} of {all} members fail their health check; with externalTrafficPolicy Local that is as it should be for Nodes without a pod of the Service"
        )
    })
}

/// How many members fail their health check, and of how many.
fn failing(picture: &BalancerPicture) -> (usize, usize) {
    let is_bad = |word: &str| matches!(word, "ERROR" | "OFFLINE");
    let bad = picture.members().filter(|member| is_bad(&member.status.operating)).count();
    (bad, picture.members().count())
}

fn request_ids(known: &Known<'_>) -> Option<String> {
    known.has_request_ids.then(|| "ask the cloud's operator about the request ids above".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known<'a>(service: &'a ServiceView, leader: &'a Leader) -> Known<'a> {
        Known {
            service,
            verdict: Verdict::Settled,
            looked: true,
            nodes: Some(3),
            picture: None,
            condition: None,
            leader,
            has_request_ids: false,
        }
    }

    fn web() -> ServiceView {
        ServiceView { namespace: "shop".into(), name: "web".into(), ..ServiceView::default() }
    }

    fn of(change: impl FnOnce(&mut Known<'_>)) -> String {
        let (web, leader) = (web(), Leader::default());
        let mut known = known(&web, &leader);
        change(&mut known);
        advice(&known).join("\n")
    }

    fn said_by(reason: &str, message: &str) -> String {
        let condition = Condition {
            status: "False".into(),
            reason: reason.into(),
            message: message.into(),
            since: String::new(),
        };
        let (web, leader) = (web(), Leader::default());
        advice(&Known { condition: Some(&condition), ..known(&web, &leader) }).join("\n")
    }

    fn led_by(leader: &Leader) -> String {
        let web = web();
        advice(&Known { verdict: Verdict::Creates, ..known(&web, leader) }).join("\n")
    }

    #[test]
    fn who_has_all_gets_no_advice() {
        assert_eq!(of(|_| {}), "");
    }

    #[test]
    fn each_trouble_has_its_advice() {
        assert!(
            of(|k| k.verdict = Verdict::Paused)
                .contains("kubectl annotate -n shop service web bowline.dev/paused-")
        );
        assert!(of(|k| k.verdict = Verdict::Refused).contains("correct what is refused"));
        assert!(of(|k| k.verdict = Verdict::Blocked).contains("correct what is refused"));
        assert!(of(|k| k.verdict = Verdict::Unknown).contains("doctor"));
        assert!(of(|k| k.verdict = Verdict::Waits).contains("wait"));
        assert!(of(|k| k.verdict = Verdict::Changes).contains("kubectl bowline resync -n shop svc/web"));
        assert!(of(|k| (k.verdict, k.looked) = (Verdict::Unknown, false)).contains("the notes name"));
        assert!(of(|k| k.nodes = Some(0)).contains("no Node can get its traffic"));
        assert_eq!(of(|k| k.nodes = None), "", "nobody knows how many");
        assert!(of(|k| k.has_request_ids = true).contains("request ids"));
    }

    #[test]
    fn what_the_manager_says_has_its_advice() {
        assert_eq!(said_by("Ensured", ""), "");
        assert!(said_by("NotAdopted", "").contains("--adopt-only"));
        assert!(said_by("CreateHeld", "").contains("drift"));
        let octavia = "403: Quota has been met for resources: Load Balancer";
        assert!(said_by("SyncFailed", octavia).starts_with("the quota of the project is used up"));
        assert!(said_by("SyncFailed", "503").contains("kubectl bowline resync -n shop svc/web"));
        assert!(said_by("RemovalFailed", "409").contains("could not be removed"));
        assert!(said_by("CloudNotObserved", "502").contains("answers here"));
    }

    #[test]
    fn while_nobody_works_that_is_told_and_a_resync_is_no_use() {
        let led = |change: fn(&mut Leader)| {
            let mut leader = Leader { lease: "cloud/ccm-prod".to_owned(), ..Leader::default() };
            change(&mut leader);
            let text = led_by(&leader);
            assert!(!text.contains("resync"), "{text}");
            text
        };
        assert!(
            led(|l| l.problem = Some("nobody holds the Lease".into())).contains("nobody holds the Lease")
        );
        assert!(led(|l| l.identity_lost = Some("401".into())).contains("renew the credentials"));
        let paused = led(|l| l.paused = Some("rack 7".into()));
        assert!(paused.contains("kubectl -n cloud annotate lease ccm-prod bowline.dev/paused-"), "{paused}");
    }

    #[test]
    fn members_that_fail_are_told_with_where_to_look() {
        let picture = |words: &[&str]| -> BalancerPicture {
            let members: Vec<_> = words
                .iter()
                .map(|word| serde_json::json!({"name": "n", "address": "10.0.0.1", "port": 1, "status": {"operating": word}}))
                .collect();
            serde_json::from_value(serde_json::json!({
                "id": "1", "name": "n", "status": {}, "addresses": [], "publicAddresses": [], "owner": {"own": true}, "detail": "read",
                "frontends": [{"name": "l", "protocol": "TCP", "port": 80, "pools": [{"name": "p", "protocol": "TCP", "algorithm": "x", "members": members}]}],
            }))
            .unwrap()
        };
        let said = |words: &[&str]| {
            let picture = picture(words);
            let (web, leader) = (web(), Leader::default());
            advice(&Known { picture: Some(&picture), ..known(&web, &leader) }).join("\n")
        };
        assert_eq!(said(&["ONLINE", "NO_MONITOR"]), "");
        assert!(said(&["ERROR", "ERROR"]).contains("all members fail"));
        assert!(said(&["ERROR", "ONLINE"]).contains("1 of 2"));
        assert_eq!(said(&[]), "", "there is nobody who could fail");
    }
}
