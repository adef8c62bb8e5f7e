//! What a person can do about a Service or a Node, from what is known of it. Pure.

use bowline_cloud::picture::BalancerPicture;
use bowline_cloud::shadow::Verdict;
use bowline_cloud::{PAUSED, ServiceView};

/// What is known of a Service.
#[derive(Debug)]
pub struct Known<'a> {
    /// The Service.
    pub service: &'a ServiceView,
    /// What would be done.
    pub verdict: Verdict,
    /// How many Nodes would get its traffic.
    pub nodes: usize,
    /// What is there.
    pub picture: Option<&'a BalancerPicture>,
    /// The reason of the manager's condition.
    pub condition: Option<&'a str>,
    /// Why nobody works on it, if nobody does.
    pub nobody_works: Option<&'a str>,
    /// Why the whole cluster is paused.
    pub cluster_paused: Option<&'a str>,
    /// Whether there are ids of requests.
    pub has_request_ids: bool,
}

/// What to do, the most important first. Nothing, if all is well.
#[must_use]
pub fn for_service(known: &Known<'_>) -> Vec<String> {
    let name = format!("-n {} svc/{}", known.service.namespace, known.service.name);
    let object = format!("-n {} service {}", known.service.namespace, known.service.name);
    let mut advice = Vec::new();
    if let Some(why) = known.nobody_works {
        advice.push(format!("no manager works: {why}; see kubectl bowline doctor"));
    }
    if let Some(why) = known.cluster_paused {
        advice.push(format!(
            "the whole cluster is paused ({why}): kubectl -n kube-system annotate lease cloud-controller-manager {PAUSED}-"
        ));
    }
    match known.verdict {
        Verdict::Paused => advice.push(format!("it is paused: kubectl annotate {object} {PAUSED}-")),
        Verdict::Refused => advice.push(
            "correct what is refused above on the Service or in the cloud; the manager looks again by itself".to_owned(),
        ),
        Verdict::Unknown => advice.push("the cloud did not answer: check it and the credentials, see kubectl bowline doctor".to_owned()),
        Verdict::Waits => advice.push("wait: the cloud is at work. If it stays so for long, its operator can look up the load balancer by its id".to_owned()),
        Verdict::Settled | Verdict::Deletes | Verdict::Readdresses | Verdict::Creates | Verdict::Changes => {}
    }
    if matches!(known.condition, Some("NotAdopted")) {
        advice.push(
            "the manager runs with --adopt-only and holds this back; end that mode, or accept what it shows"
                .to_owned(),
        );
    }
    if matches!(known.condition, Some("CreateHeld")) {
        advice.push("something is made again and again and not found again: look for leftovers with kubectl bowline drift".to_owned());
    }
    if is_stuck(known) {
        advice.push(format!("let the manager look at it now: kubectl bowline resync {name}"));
    }
    if known.nodes == 0 && known.verdict != Verdict::Paused {
        advice.push("no Node can get its traffic: they are excluded by a label, being removed, or there are none; see kubectl bowline status".to_owned());
    }
    advice.extend(known.picture.and_then(data_plane));
    if known.has_request_ids {
        advice.push("ask the cloud's operator about the request ids above".to_owned());
    }
    advice
}

/// Something is to do and the manager has not said that it failed: it may not have seen it.
fn is_stuck(known: &Known<'_>) -> bool {
    let to_do = matches!(
        known.verdict,
        Verdict::Deletes | Verdict::Readdresses | Verdict::Creates | Verdict::Changes
    );
    to_do && known.nobody_works.is_none() && known.cluster_paused.is_none()
}

/// The load balancer is as asked, and nobody answers behind it.
fn data_plane(picture: &BalancerPicture) -> Option<String> {
    let members: Vec<_> = picture.members().collect();
    let is_bad = |word: &str| matches!(word, "ERROR" | "OFFLINE");
    let bad = members.iter().filter(|member| is_bad(&member.status.operating)).count();
    match (bad, members.len()) {
        (0, _) => None,
        (bad, all) if bad == all => Some(
            "all members fail their health check: check the pods and endpoints of the Service, its node ports, and the security groups of the Nodes".to_owned(),
        ),
        (bad, all) => Some(format!(
            "{bad} of {all} members fail their health check; with externalTrafficPolicy Local that is as it should be for Nodes without a pod of the Service"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(service: &ServiceView) -> Known<'_> {
        Known {
            service,
            verdict: Verdict::Settled,
            nodes: 3,
            picture: None,
            condition: Some("Ensured"),
            nobody_works: None,
            cluster_paused: None,
            has_request_ids: false,
        }
    }

    fn web() -> ServiceView {
        ServiceView { namespace: "shop".into(), name: "web".into(), ..ServiceView::default() }
    }

    fn of(change: impl FnOnce(&mut Known<'_>)) -> String {
        let web = web();
        let mut known = known(&web);
        change(&mut known);
        for_service(&known).join("\n")
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
        assert!(of(|k| k.verdict = Verdict::Unknown).contains("doctor"));
        assert!(of(|k| k.verdict = Verdict::Waits).contains("wait"));
        assert!(of(|k| k.verdict = Verdict::Changes).contains("kubectl bowline resync -n shop svc/web"));
        assert!(of(|k| k.nobody_works = Some("nobody holds the Lease")).contains("nobody holds the Lease"));
        assert!(of(|k| k.cluster_paused = Some("rack 7")).contains("lease cloud-controller-manager"));
        assert!(of(|k| k.nodes = 0).contains("no Node can get its traffic"));
        assert!(of(|k| k.condition = Some("NotAdopted")).contains("--adopt-only"));
        assert!(of(|k| k.condition = Some("CreateHeld")).contains("drift"));
        assert!(of(|k| k.has_request_ids = true).contains("request ids"));
    }

    #[test]
    fn a_resync_is_no_use_while_nobody_works() {
        let text = of(|k| (k.verdict, k.nobody_works) = (Verdict::Creates, Some("no")));
        assert!(!text.contains("resync"), "{text}");
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
        let said = |words: &[&str]| data_plane(&picture(words));
        assert_eq!(said(&["ONLINE", "NO_MONITOR"]), None);
        assert!(said(&["ERROR", "ERROR"]).unwrap().contains("all members fail"));
        assert!(said(&["ERROR", "ONLINE"]).unwrap().contains("1 of 2"));
    }
}
