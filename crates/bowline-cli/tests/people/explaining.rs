//! `explain`: each verdict and each piece of advice that there is, one state of cluster and cloud after the other.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use bowline_cli::explain::advice;
use http::StatusCode;
use serde_json::json;
use sim_openstack::compute::VmState;
use sim_openstack::load_balancer::set_member_health;
use sim_openstack::{Fault, Rule, Service};

use crate::harness::{CLUSTER, Finished, Harness, manager, node};

const WEB: &str = "/api/v1/namespaces/default/services/web";
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The advice for Services: each kind with words that no other has.
const FOR_SERVICES: &[(&str, &str)] = &[
    (
        "no-manager-works",
        "no manager works: Lease kube-system/cloud-controller-manager of ccm-1_x was renewed",
    ),
    ("identity-lost", "the cloud does not know the manager any more (401)"),
    (
        "cluster-paused",
        "(rack 7 moves): kubectl -n kube-system annotate lease cloud-controller-manager bowline.dev/paused-",
    ),
    ("paused", "kubectl annotate -n default service web bowline.dev/paused-"),
    ("refused", "correct what is refused above"),
    ("not-looked-at", "what would be done now is not known here"),
    ("cloud-silent", "the cloud did not answer: check it and the credentials"),
    ("cloud-at-work", "wait: the cloud is at work"),
    ("quota", "the quota of the project is used up"),
    ("sync-failed", "the last try failed, as the manager says above"),
    ("removal-failed", "its load balancer could not be removed"),
    ("cloud-not-observed", "the cloud did not answer the manager, and answers here"),
    ("not-adopted", "the manager runs with --adopt-only"),
    ("create-held", "look for leftovers with kubectl bowline drift"),
    ("resync", "kubectl bowline resync -n default svc/"),
    ("no-nodes", "no Node can get its traffic"),
    ("all-members-fail", "all members fail their health check"),
    ("some-members-fail", "1 of 2 members fail their health check"),
    ("request-ids", "ask the cloud's operator about the request ids"),
];

/// The advice for Nodes, likewise.
const FOR_NODES: &[(&str, &str)] = &[
    (
        "no-manager-works",
        "no manager works: Lease kube-system/cloud-controller-manager of ccm-1_x was renewed",
    ),
    ("identity-lost", "the cloud does not know the manager any more (401)"),
    (
        "cluster-paused",
        "(rack 7 moves): kubectl -n kube-system annotate lease cloud-controller-manager bowline.dev/paused-",
    ),
    ("not-initialized", "its server is there and it is not initialized yet"),
    ("kubelet-flag", "its kubelet runs without --cloud-provider=external"),
    ("gone-and-ready", "it is Ready although the cloud has no such server"),
    ("gone-and-held", "kubectl annotate node node-2 bowline.dev/allow-node-deletion=true"),
    ("gone", "the manager deletes it after it has proven again"),
    ("foreign-and-waiting", "waits for that cloud's manager to initialize it"),
    ("cloud-silent", "the cloud did not say: check it and the credentials"),
    ("shut-down", "its server is shut down"),
];

/// The verdicts of which a Service is told one.
const VERDICTS: &[&str] = &[
    "deletes",
    "changes the address",
    "creates",
    "waits",
    "refused",
    "changes",
    "paused",
    "settled",
    "unknown",
];

/// What was seen so far, to tell at the end what nobody saw.
struct Seen<'a> {
    stage: &'a Harness,
    words: &'static [(&'static str, &'static str)],
    advice: BTreeSet<&'static str>,
    verdicts: BTreeSet<&'static str>,
}

impl<'a> Seen<'a> {
    fn on(stage: &'a Harness, words: &'static [(&'static str, &'static str)]) -> Self {
        Self { stage, words, advice: BTreeSet::new(), verdicts: BTreeSet::new() }
    }

    /// Explains, and finds exactly this advice in this order.
    async fn advised(&mut self, target: &str, code: i32, kinds: &[&str]) -> anyhow::Result<Finished> {
        let answer = self.stage.run(&format!("explain {target}")).await?;
        self.found(answer, code, kinds)
    }

    /// The same in an answer that is there.
    fn found(&mut self, answer: Finished, code: i32, kinds: &[&str]) -> anyhow::Result<Finished> {
        let kind = |line: &str| {
            self.words.iter().find(|(_kind, words)| line.contains(words)).map_or("?", |(kind, _words)| *kind)
        };
        let lines = answer.out.lines().skip_while(|line| *line != "What to do").skip(1);
        let found: Vec<&'static str> = lines.filter(|line| line.starts_with("  - ")).map(kind).collect();
        ensure!(
            found == kinds && answer.code == code,
            "wanted {code} {kinds:?}, found {found:?}: {answer:?}"
        );
        self.advice.extend(found);
        Ok(answer)
    }

    /// The same for a Service of which this is the verdict.
    async fn judged(
        &mut self,
        target: &str,
        verdict: &'static str,
        kinds: &[&str],
    ) -> anyhow::Result<Finished> {
        let code = match verdict {
            "settled" if kinds.is_empty() => 0,
            "unknown" => 2,
            _ => 1,
        };
        let answer = self.advised(target, code, kinds).await?;
        let told = answer.out.lines().any(|line| line.starts_with(&format!("Now: {verdict} - ")));
        ensure!(told, "{target} is not {verdict}: {answer:?}");
        self.verdicts.insert(verdict);
        Ok(answer)
    }

    fn saw_all_of(&self, kinds: impl Iterator<Item = &'static str>) -> anyhow::Result<()> {
        let all: BTreeSet<&str> = kinds.collect();
        ensure!(
            self.advice == all,
            "advice that no state here gives: {:?}",
            all.symmetric_difference(&self.advice)
        );
        Ok(())
    }
}

fn annotate(stage: &Harness, key: &str, value: Option<&str>) -> anyhow::Result<()> {
    stage.patch(WEB, &json!({"metadata": {"annotations": {key: value}}}))
}

fn edit_balancers(stage: &Harness, status: &str) {
    stage.cloud.world(|world| {
        let balancers = &mut world.state.load_balancer.load_balancers;
        let all: Vec<String> = balancers.iter().map(|one| one.id.clone()).collect();
        for id in all {
            balancers.update(&id, |one| status.clone_into(&mut one.provisioning_status));
        }
    });
}

/// Who gets the traffic of a Service that chooses its Nodes, itself or by cloud.conf.
async fn chosen_nodes(stage: &Harness, seen: &mut Seen<'_>) -> anyhow::Result<()> {
    let label = |value: Option<&str>| {
        stage.patch("/api/v1/nodes/node-1", &json!({"metadata": {"labels": {"pool": value}}}))
    };
    let selector = "loadbalancer.openstack.org/node-selector";
    label(Some("edge"))?;
    annotate(stage, selector, Some("pool=edge"))?;
    seen.judged("svc/web", "changes", &["resync"]).await?.says(1, &["  1 Nodes get its traffic"])?;
    label(None)?;
    seen.advised("svc/web", 1, &["resync", "no-nodes"]).await?.says(1, &["  0 Nodes get its traffic"])?;
    annotate(stage, selector, None)?;
    stage.cloud.write_conf(stage.folder.path(), "create-monitor = true\nnode-selector = pool=edge")?;
    seen.advised("svc/web", 1, &["resync", "no-nodes"]).await?.says(1, &["  0 Nodes get its traffic"])?;
    stage
        .run("doctor")
        .await?
        .says(1, &["none of 2 Nodes has the labels by which default/web choose theirs"])?;
    label(Some("edge"))?;
    seen.judged("svc/web", "changes", &["resync"]).await?.says(1, &["  1 Nodes get its traffic"])?;
    label(None)?;
    stage.cloud.write_conf(stage.folder.path(), "create-monitor = true")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_verdict_and_each_piece_of_advice_for_a_service_is_given_when_it_is_due() -> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
    stage.cloud.write_conf(stage.folder.path(), "create-monitor = true")?;
    stage.service("web")?;
    let mut seen = Seen::on(&stage, FOR_SERVICES);
    seen.judged("svc/web", "creates", &["resync"]).await?;
    stage.settle("web").await?;
    seen.judged("svc/web", "settled", &[]).await?.says(0, &["all is as the Service asks"])?;

    // Who does not work, or was told to stop.
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    seen.advised("svc/web", 1, &["no-manager-works"]).await?.says(1, &["nobody works"])?;
    stage.lead(jiff::Timestamp::now())?;
    stage.pause(Some("rack 7 moves"))?;
    seen.judged("svc/web", "settled", &["cluster-paused"]).await?;
    stage.pause(None)?;
    stage.lose_identity(true)?;
    seen.judged("svc/web", "settled", &["identity-lost"])
        .await?
        .says(1, &["the cloud does not know it: 401"])?;
    stage.lose_identity(false)?;
    annotate(&stage, "bowline.dev/paused", Some("true"))?;
    seen.judged("svc/web", "paused", &["paused"]).await?;
    annotate(&stage, "bowline.dev/paused", None)?;

    // What the manager said last.
    stage.say("web", "NotAdopted", "it would make a load balancer")?;
    seen.judged("svc/web", "settled", &["not-adopted"]).await?.says(1, &["NotAdopted (False)"])?;
    stage.say("web", "CreateHeld", "made 3 times (request id req-7f)")?;
    seen.judged("svc/web", "settled", &["create-held", "request-ids"]).await?.says(1, &["req-7f"])?;
    stage.say("web", "SyncFailed", "403: Quota has been met for resources: Load Balancer")?;
    seen.judged("svc/web", "settled", &["quota"]).await?;
    stage.say("web", "SyncFailed", "tried again; the last failure: 503")?;
    seen.judged("svc/web", "settled", &["sync-failed"]).await?;
    stage.say("web", "RemovalFailed", "tried again; the last failure: 409")?;
    seen.judged("svc/web", "settled", &["removal-failed"]).await?;
    stage.say("web", "CloudNotObserved", "502")?;
    seen.judged("svc/web", "settled", &["cloud-not-observed"]).await?;
    stage.patch(&format!("{WEB}/status"), &json!({"status": {"conditions": null}}))?;

    // Who answers behind it.
    let members: Vec<String> = stage
        .cloud
        .world(|world| world.state.load_balancer.members.iter().map(|member| member.id.clone()).collect());
    ensure!(members.len() == 2, "{members:?}");
    stage.cloud.world(|world| set_member_health(world, &members[0], false));
    seen.judged("svc/web", "settled", &["some-members-fail"]).await?.says(1, &["ERROR", "ONLINE"])?;
    stage.cloud.world(|world| set_member_health(world, &members[1], false));
    seen.judged("svc/web", "settled", &["all-members-fail"]).await?;
    members.iter().for_each(|id| stage.cloud.world(|world| set_member_health(world, id, true)));

    // What the cloud does.
    edit_balancers(&stage, "PENDING_UPDATE");
    seen.judged("svc/web", "waits", &["cloud-at-work"]).await?.says(1, &["PENDING_UPDATE"])?;
    edit_balancers(&stage, "ACTIVE");
    let outage = Rule::new(Fault::status(StatusCode::SERVICE_UNAVAILABLE)).on(Service::LoadBalancer);
    let outage = stage.cloud.disturb(|faults| faults.add(outage.path("*/lbaas/*")));
    seen.judged("svc/web", "unknown", &["cloud-silent", "request-ids"]).await?.says(2, &["503", "req-"])?;
    stage.cloud.disturb(|faults| faults.remove(outage));

    // What is asked for.
    let excluded = "node.kubernetes.io/exclude-from-external-load-balancers";
    let label = |value: Option<&str>| -> anyhow::Result<()> {
        for node in ["node-1", "node-2"] {
            stage.patch(
                &format!("/api/v1/nodes/{node}"),
                &json!({"metadata": {"labels": {excluded: value}}}),
            )?;
        }
        Ok(())
    };
    label(Some(""))?;
    seen.advised("svc/web", 1, &["resync", "no-nodes"]).await?.says(1, &["0 Nodes get its traffic"])?;
    label(None)?;
    chosen_nodes(&stage, &mut seen).await?;
    let status = stage.read(WEB)["status"].clone();
    let moved = json!({"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.99"}]}}});
    stage.patch(&format!("{WEB}/status"), &moved)?;
    seen.judged("svc/web", "changes the address", &["resync"]).await?.says(1, &["203.0.113.99"])?;
    stage.patch(&format!("{WEB}/status"), &json!({"status": status}))?;
    stage.patch(WEB, &json!({"spec": {"sessionAffinity": "ClientIP"}}))?;
    seen.judged("svc/web", "changes", &["resync"]).await?;
    stage.delete(WEB);
    seen.judged("svc/web", "deletes", &["resync"]).await?.says(1, &["its load balancer shall go"])?;

    stage.service("twice")?;
    let name = format!("kube_service_{CLUSTER}_default_twice");
    for _ in 0..2 {
        stage.cloud.make_balancer(&name, &[]).await?;
    }
    seen.judged("svc/twice", "refused", &["refused"]).await?.says(1, &["are all called"])?;

    stage.kube.authorize_with(|access| access.namespace == "default");
    let by_a_team = stage.run_with("explain svc/twice", None).await?;
    seen.found(by_a_team, 2, &["not-looked-at"])?;
    seen.saw_all_of(advice::service::RULES.iter().map(|(kind, _rule)| *kind))?;
    ensure!(seen.verdicts == VERDICTS.iter().copied().collect(), "{:?}", seen.verdicts);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_wants_nothing_of_this_manager_is_told_apart_and_gets_no_advice() -> anyhow::Result<()>
{
    let stage = Harness::start(1).await?;
    for (name, spec) in [
        ("inner", json!({"type": "ClusterIP"})),
        ("theirs", json!({"type": "LoadBalancer", "loadBalancerClass": "example.org/metal"})),
    ] {
        let mut new = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"ports": [{"port": 80, "protocol": "TCP"}]},
        });
        let spec = spec.as_object().context("no object")?.clone();
        new["spec"].as_object_mut().context("no object")?.extend(spec);
        let (code, body) =
            stage.kube.request(http::Method::POST, "/api/v1/namespaces/default/services", &new);
        ensure!(code == 201, "{code} {body}");
    }
    // Nobody works, which is none of their business.
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    let mut seen = Seen::on(&stage, FOR_SERVICES);
    seen.advised("svc/inner", 0, &[])
        .await?
        .says(0, &["its type is ClusterIP: it wants no load balancer"])?;
    let theirs = seen.advised("svc/theirs", 0, &[]).await?;
    theirs.says(0, &["its loadBalancerClass is example.org/metal: another controller makes"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_with_rights_to_one_namespace_is_told_what_the_manager_says_and_which_rights_it_lacks()
-> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
    stage.service("web")?;
    stage.settle("web").await?;
    stage.say("web", "SyncFailed", "403: Quota has been met for resources: Load Balancer")?;
    stage.kube.authorize_with(|access| access.namespace == "default");
    let answer = stage.run_with("explain svc/web", None).await?;
    answer.says(
        2,
        &[
            "how many Nodes get its traffic is not known",
            "SyncFailed (False)",
            "Manager: not known",
            "the quota of the project is used up",
            "Note: the leader is not known: Lease kube-system/cloud-controller-manager cannot be read",
            "it takes the right to get leases in namespace kube-system",
            "it takes the right to list nodes",
        ],
    )?;
    let told = stage.run_with("explain svc/web -o json", None).await?.json()?;
    ensure!(told["wanted"]["nodes"].is_null() && told["leader"]["problem"].is_null(), "{told}");

    // With credentials of the cloud they see at least what is there.
    let answer = stage.run("explain svc/web").await?;
    answer.says(2, &["TCP/80", "node-1", "Now: unknown", "who may not list Nodes"])?;

    // They may have it looked at.
    stage.run_with("resync svc/web", None).await?.says(0, &["default/web: the manager looks at it"])?;

    // Without the events it is no different.
    stage.kube.authorize_with(|access| access.namespace == "default" && access.resource == "services");
    let answer = stage.run_with("explain svc/web", None).await?;
    answer.says(2, &["it takes the right to list events in namespace default"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_ended_on_the_lease_that_was_named() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    stage.service("web")?;
    stage.seed(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "ccm-prod", "namespace": "default", "annotations": {"bowline.dev/paused": "rack 7"}},
        "spec": {"holderIdentity": "a_1", "leaseDurationSeconds": 3600, "renewTime": format!("{:.6}", jiff::Timestamp::now())},
    }))?;
    let answer = stage.run("explain svc/web --manager-namespace default --lease ccm-prod").await?;
    answer.says(1, &["kubectl -n default annotate lease ccm-prod bowline.dev/paused-"])
}

#[tokio::test(flavor = "multi_thread")]
async fn each_piece_of_advice_for_a_node_is_given_when_it_is_due() -> anyhow::Result<()> {
    let stage = Harness::start(4).await?;
    let mut seen = Seen::on(&stage, FOR_NODES);
    seen.advised("node/node-1", 0, &[]).await?.says(0, &["ready, gets traffic", "running"])?;
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    seen.advised("node/node-1", 1, &["no-manager-works"]).await?;
    stage.lead(jiff::Timestamp::now())?;
    stage.pause(Some("rack 7 moves"))?;
    seen.advised("node/node-1", 1, &["cluster-paused"]).await?;
    stage.pause(None)?;
    stage.lose_identity(true)?;
    seen.advised("node/node-1", 1, &["identity-lost"]).await?;
    stage.lose_identity(false)?;

    // How it was registered.
    let taints = json!([{"key": UNINITIALIZED, "effect": "NoSchedule"}]);
    let mut waiting = node("node-3", None, "10.9.0.3");
    waiting["spec"]["taints"] = taints.clone();
    stage.seed(waiting)?;
    seen.advised("node/node-3", 1, &["not-initialized"])
        .await?
        .says(1, &["provider ID: none", UNINITIALIZED])?;
    stage.seed(node("node-3", None, "10.9.0.3"))?;
    seen.advised("node/node-3", 1, &["kubelet-flag"]).await?;
    let mut metal = node("metal", Some("metal://7"), "10.9.0.7");
    stage.seed(metal.clone())?;
    seen.advised("node/metal", 0, &[]).await?.says(0, &["none of ours"])?;
    metal["spec"]["taints"] = taints;
    stage.seed(metal)?;
    seen.advised("node/metal", 1, &["foreign-and-waiting"]).await?;

    // What became of its server.
    let [_, second, _, fourth] = stage.cloud.estate.servers.as_slice() else {
        anyhow::bail!("not four servers")
    };
    stage.cloud.world(|world| {
        world.state.compute.servers.update(fourth, |server| server.vm_state = VmState::Stopped)
    });
    seen.advised("node/node-4", 1, &["shut-down"]).await?.says(1, &["shut down"])?;
    stage.cloud.world(|world| world.state.compute.servers.remove(second)).context("no server")?;
    seen.advised("node/node-2", 1, &["gone-and-ready"]).await?.says(1, &["gone: "])?;
    let not_ready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": "2026-11-16T08:00:00Z"},
    ]}});
    stage.patch("/api/v1/nodes/node-2/status", &not_ready)?;
    seen.advised("node/node-2", 1, &["gone"]).await?.says(1, &["not ready"])?;
    let held = "Not deleting node node-2: 2 of 3 nodes seem gone at once, so none is deleted; check";
    stage.event(&json!({"kind": "Node", "name": "node-2"}), "NodeDeletionHeld", held)?;
    seen.advised("node/node-2", 1, &["gone-and-held"]).await?.says(1, &["2 of 3 nodes seem gone at once"])?;

    let outage = Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(Service::Compute);
    stage.cloud.disturb(|faults| faults.add(outage.path("*/servers*")));
    seen.advised("node/node-1", 2, &["cloud-silent"]).await?.says(2, &["unknown: ", "503"])?;
    seen.saw_all_of(advice::node::RULES.iter().map(|(kind, _rule)| *kind))
}

/// What a namespace user asked for that a rule of the administrator forbids: the section and key are named, and what would be allowed.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_a_tenancy_rule_refuses_is_told_which_rule() -> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
    let rules = "[LoadBalancerClass \"gold\"]\nflavor-id = large\n\
        [Tenancy \"default\"]\nflavor-id = small\nclass = none\njoin-unmanaged = no\n\
        [Tenancy \"other\"]\nflavor-id = any\n";
    stage.cloud.write_conf(stage.folder.path(), rules)?;
    stage.cloud.make_balancer("by-hand", &[]).await?;
    let by_hand = stage
        .cloud
        .world(|world| world.state.load_balancer.load_balancers.iter().next().map(|one| one.id.clone()));
    let by_hand = by_hand.context("no load balancer")?;
    let mut seen = Seen::on(&stage, FOR_SERVICES);
    for (name, key, value, rule, allowed) in [
        ("flavored", "flavor-id", "large", "[Tenancy \"default\"] flavor-id", "allowed: small"),
        ("classed", "class", "gold", "[Tenancy \"default\"] class", "allowed: none"),
        (
            "sharing",
            "load-balancer-id",
            by_hand.as_str(),
            "[Tenancy \"default\"] join-unmanaged is no",
            "join-unmanaged = yes in [Tenancy \"default\"]",
        ),
    ] {
        stage.service(name)?;
        let annotation = format!("loadbalancer.openstack.org/{key}");
        let path = format!("/api/v1/namespaces/default/services/{name}");
        stage.patch(&path, &json!({"metadata": {"annotations": {annotation.as_str(): value}}}))?;
        let answer = seen.judged(&format!("svc/{name}"), "refused", &["refused"]).await?;
        answer.says(1, &[rule, allowed, annotation.as_str()])?;
        stage.patch(&path, &json!({"metadata": {"annotations": {annotation.as_str(): null}}}))?;
        seen.judged(&format!("svc/{name}"), "creates", &["resync"]).await?;
    }
    Ok(())
}

/// A Node outside of the manager's `--node-filter` is left alone by it, whatever became of its server.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_outside_of_the_managers_node_filter_is_not_said_to_be_deleted() -> anyhow::Result<()> {
    let stage = Harness::start(2).await?;
    let [_, second] = stage.cloud.estate.servers.as_slice() else { anyhow::bail!("not two servers") };
    stage.cloud.world(|world| world.state.compute.servers.remove(second)).context("no server")?;
    stage.run("drift").await?.says(1, &["node-2"])?;
    let mut pod = manager("ccm-1", "bowline");
    let arguments = pod["spec"]["containers"][0]["args"].as_array_mut().context("no arguments")?;
    arguments.push(json!("--node-filter=pool in (a,b),!edge"));
    stage.seed(pod)?;
    stage.patch("/api/v1/nodes/node-1", &json!({"metadata": {"labels": {"pool": "a"}}}))?;
    let mut seen = Seen::on(&stage, FOR_NODES);
    let answer = seen.advised("node/node-2", 0, &[]).await?;
    answer.says(0, &["none of ours", "--node-filter=pool in (a,b),!edge does not select its labels"])?;
    seen.advised("node/node-1", 0, &[]).await?.says(0, &["running"])?;
    let drift = stage.run("drift").await?;
    ensure!(!drift.out.contains("node-2"), "{drift:?}");
    let doctor = stage.run("doctor").await?;
    ensure!(!doctor.out.contains("node-2 are gone") && !doctor.out.contains("server-gone"), "{doctor:?}");

    // A server of a Node inside is gone as before.
    stage.patch("/api/v1/nodes/node-2", &json!({"metadata": {"labels": {"pool": "b"}}}))?;
    stage.run("drift").await?.says(1, &["node-2"])
}
