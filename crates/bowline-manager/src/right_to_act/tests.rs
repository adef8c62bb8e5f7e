//! What is asked, what is said about the answers, and that it is unsaid when the right is there.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bowline_cloud::Watches;
use bowline_controllers::registry::ControllerName;
use bowline_kube::clock::Clock;
use bowline_kube::events::EventMetrics;
use bowline_testkit::memory_cluster::MemoryCluster;
use k8s_openapi::api::authorization::v1::ResourceRule;
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::time::sleep;

use super::ask::Answer;
use super::rules::Place;
use super::*;
use crate::rbac::Rights;
use crate::serving::health::{Endpoint, HealthQuery};

/// Denies some rights, and counts how often it was asked for everything.
#[derive(Default)]
struct Role {
    denied: Mutex<BTreeSet<String>>,
    unasked: Mutex<bool>,
    asked: Mutex<Vec<String>>,
    /// Whether it lists its rules, and how often it was asked to.
    lists: bool,
    listed: Mutex<Vec<Place>>,
    /// As whom it was asked.
    accounts: Mutex<BTreeSet<String>>,
}

impl Role {
    fn deny(&self, rights: &[&str]) {
        *self.denied.lock() = rights.iter().map(|right| (*right).to_owned()).collect();
    }
}

#[async_trait]
impl Ask for Role {
    /// One rule for each right that is not denied.
    async fn rules(&self, place: &Place) -> Option<Vec<ResourceRule>> {
        if !self.lists {
            return None;
        }
        self.listed.lock().push(place.clone());
        let is_here = |question: &&Question| Place::of(question) == *place;
        let all = questions(&Rights::common(), &situation());
        let denied = self.denied.lock();
        let is_granted = |question: &&Question| {
            !denied.contains(&format!("{} {}", question.verb, question.full_resource()))
        };
        let granted = all.iter().filter(is_here).filter(is_granted);
        Some(granted.map(rule_for).collect())
    }

    async fn ask(&self, question: &Question) -> Answer {
        let right = format!("{} {}", question.verb, question.full_resource());
        self.asked.lock().push(right.clone());
        self.accounts.lock().extend(question.account.clone());
        if *self.unasked.lock() {
            return Answer::Unasked("selfsubjectaccessreviews is forbidden".to_owned());
        }
        match self.denied.lock().contains(&right) {
            true => Answer::Denied,
            false => Answer::Allowed,
        }
    }
}

fn rule_for(question: &Question) -> ResourceRule {
    ResourceRule {
        verbs: vec![question.verb.to_owned()],
        api_groups: Some(vec![question.group.to_owned()]),
        resources: Some(vec![question.resource.to_owned()]),
        resource_names: question.name.clone().map(|name| vec![name]),
    }
}

/// The whole check, running against a role.
struct Bench {
    role: Arc<Role>,
    health: HealthRegistry,
    registry: Registry,
    cluster: MemoryCluster,
    checking: Checking,
}

fn situation() -> Situation {
    let [node, lifecycle, service, ..] = ControllerName::common();
    Situation {
        controllers: vec![node, lifecycle, service],
        lease_namespace: "kube-system".to_owned(),
        leases: vec!["ccm".to_owned()],
        ledger: "ccm-ledger".to_owned(),
        authentication: true,
        ..Situation::default()
    }
}

impl Bench {
    fn start(role: Role) -> Self {
        Self::start_in(role, &situation())
    }

    fn start_in(role: Role, situation: &Situation) -> Self {
        let (role, health) = (Arc::new(role), HealthRegistry::new());
        let mut registry = Registry::default();
        let cluster = MemoryCluster::default();
        let checking = RightToAct {
            questions: questions(&Rights::common(), situation),
            ask: role.clone(),
            metrics: PermissionMetrics::register(&mut registry),
            events: EventRecorder::new(cluster.client(), "ccm", "", Clock::system(), EventMetrics::default()),
            about: bowline_kube::lease::lease_reference("kube-system", "ccm", None),
            manifest: "deploy/rbac.yaml",
        }
        .start(&health);
        Self { role, health, registry, cluster, checking }
    }

    fn readyz(&self) -> (bool, String) {
        let query = HealthQuery { verbose: true, reasons: true, ..HealthQuery::default() };
        let answer = self.health.respond(Endpoint::Readyz, &query);
        (answer.ok, answer.body)
    }

    fn metrics(&self) -> String {
        let mut page = String::new();
        encode(&mut page, &self.registry).unwrap();
        page
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_verb_is_named_everywhere_and_forgotten_when_it_is_granted() {
    let role = Role::default();
    role.deny(&["delete nodes"]);
    let bench = Bench::start(role);
    sleep(Duration::from_secs(1)).await;

    let (ok, body) = bench.readyz();
    assert!(ok, "a restart would grant nothing");
    for word in ["delete nodes", "cloud-node-lifecycle-controller", "deploy/rbac.yaml"] {
        assert!(body.contains(word), "{word} in {body}");
    }
    let series = r#"bowline_missing_permissions{verb="delete",resource="nodes",controller="cloud-node-lifecycle-controller"} 1"#;
    assert!(bench.metrics().contains(series), "{}", bench.metrics());
    sleep(Duration::from_secs(60)).await;
    let events = bench.cluster.events();
    assert_eq!(events.len(), 1, "said once, not at every look: {events:?}");
    assert_eq!(events[0]["reason"], "MissingPermissions");
    assert_eq!(events[0]["type"], "Warning");
    assert_eq!(events[0]["involvedObject"]["kind"], "Lease");
    assert!(events[0]["message"].as_str().unwrap().contains("delete nodes"), "{events:?}");

    bench.role.deny(&[]);
    sleep(AGAIN_WHILE_MISSING).await;
    assert!(bench.readyz().1.contains("[+]permissions ok"), "{}", bench.readyz().1);
    assert!(!bench.metrics().contains("bowline_missing_permissions{"), "{}", bench.metrics());
}

#[tokio::test(start_paused = true)]
async fn two_lists_answer_for_a_role_that_has_all_and_only_what_they_lack_is_asked_about() {
    let bench = Bench::start(Role { lists: true, ..Role::default() });
    sleep(Duration::from_secs(1)).await;
    assert!(bench.readyz().1.contains("[+]permissions ok"), "{}", bench.readyz().1);
    assert_eq!(*bench.role.asked.lock(), Vec::<String>::new());
    let everywhere = Place { account: None, namespace: None };
    let leases = Place { account: None, namespace: Some("kube-system".to_owned()) };
    assert_eq!(*bench.role.listed.lock(), [everywhere, leases]);

    bench.role.deny(&["delete nodes"]);
    bench.checking.leads();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*bench.role.asked.lock(), ["delete nodes"]);
    let (_, body) = bench.readyz();
    for word in ["delete nodes", "cloud-node-lifecycle-controller", "deploy/rbac.yaml"] {
        assert!(body.contains(word), "{word} in {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_all_right_is_asked_again_after_an_hour_and_whenever_somebody_says_so() {
    let bench = Bench::start(Role::default());
    let rounds = || bench.role.asked.lock().iter().filter(|right| *right == "list nodes").count();
    sleep(AGAIN_AFTER.saturating_sub(Duration::from_secs(1))).await;
    assert_eq!(rounds(), 1);
    assert!(bench.readyz().1.contains("[+]permissions ok"));
    bench.role.deny(&["patch nodes"]);
    bench.checking.leads();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(rounds(), 2, "leadership was won");
    assert!(bench.readyz().1.contains("cloud-node-controller: initialise and label Nodes"));
    bench.role.deny(&[]);
    sleep(AGAIN_WHILE_MISSING + AGAIN_AFTER).await;
    assert_eq!(rounds(), 4);
}

#[tokio::test(start_paused = true)]
async fn nobody_acts_as_a_controllers_own_account_before_this_process_leads() {
    let situation = Situation { own_accounts: true, ..situation() };
    let bench = Bench::start_in(Role::default(), &situation);
    let accounts = || bench.role.accounts.lock().iter().cloned().collect::<Vec<_>>();
    sleep(AGAIN_AFTER * 3).await;
    assert_eq!(accounts(), Vec::<String>::new(), "getting such an identity may create the ServiceAccount");
    assert!(bench.role.asked.lock().iter().any(|right| right == "list nodes"), "its own rights");
    assert!(
        bench.readyz().1.contains("[+]permissions ok"),
        "a standby is not degraded by what it need not know"
    );
    bench.checking.leads();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(accounts(), ["node-controller", "service-controller"]);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_question_is_said_to_be_so_and_harms_nothing() {
    let bench = Bench::start(Role { unasked: Mutex::new(true), ..Role::default() });
    sleep(Duration::from_secs(1)).await;
    let (ok, body) = bench.readyz();
    assert!(ok);
    assert!(body.contains("selfsubjectaccessreviews.authorization.k8s.io"), "{body}");
    assert!(bench.metrics().contains(r#"resource="selfsubjectaccessreviews.authorization.k8s.io""#));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_once_the_process_has_ended() {
    let Bench { role, checking, .. } = Bench::start(Role::default());
    sleep(Duration::from_secs(1)).await;
    drop(checking);
    let asked = role.asked.lock().len();
    sleep(AGAIN_AFTER * 3).await;
    assert_eq!(role.asked.lock().len(), asked);
}

fn lines(situation: &Situation) -> Vec<String> {
    let rights = Rights::common().with_extra("rack-label-controller", Watches::Nodes);
    questions(&rights, situation).iter().map(ToString::to_string).collect()
}

#[test]
fn only_what_the_enabled_controllers_need_is_asked_about() {
    let all = lines(&situation());
    assert!(all.iter().any(|line| line.starts_with("delete nodes (")), "{all:#?}");
    assert!(!all.iter().any(|line| line.contains("route-controller")), "it is not enabled: {all:#?}");
    assert!(!all.iter().any(|line| line.contains("configmaps")), "nobody looks it up: {all:#?}");
    assert!(!all.iter().any(|line| line.contains("serviceaccounts")), "{all:#?}");
    let patches: Vec<_> = all.iter().filter(|line| line.starts_with("patch nodes (")).collect();
    assert_eq!(patches.len(), 1, "asked once for all who need it");
    assert!(
        patches[0].contains("cloud-node-controller")
            && patches[0].contains("cloud-node-lifecycle-controller")
    );

    let without_lifecycle = Situation { controllers: ControllerName::common()[..1].to_vec(), ..situation() };
    assert!(!lines(&without_lifecycle).iter().any(|line| line.starts_with("delete nodes")));
}

#[test]
fn leases_are_asked_about_under_the_names_this_process_was_told() {
    let all = lines(&situation());
    assert!(
        all.iter().any(
            |line| line.starts_with("update leases.coordination.k8s.io \"ccm\" in namespace kube-system")
        )
    );
    assert!(
        all.iter().any(|line| line.starts_with("create leases.coordination.k8s.io in namespace")),
        "{all:#?}"
    );
    let alone = Situation { leases: Vec::new(), ..situation() };
    let ledger = |line: &&String| !line.contains("\"ccm-ledger\"") && !line.starts_with("create leases");
    assert!(!lines(&alone).iter().filter(ledger).any(|line| line.contains("leases")), "the ledger alone");
}

#[test]
fn with_accounts_of_their_own_each_is_asked_about_its_own_rights() {
    let all = lines(&Situation { own_accounts: true, ..situation() });
    let starts = |start: &str| all.iter().any(|line| line.starts_with(start));
    assert!(starts("delete nodes as ServiceAccount kube-system/node-controller"), "{all:#?}");
    assert!(starts("list nodes ("), "{all:#?}");
    assert!(
        starts("create serviceaccounts/token \"service-controller\" in namespace kube-system"),
        "{all:#?}"
    );
    assert!(!all.iter().any(|line| line.contains("\"route-controller\"")), "{all:#?}");
}
