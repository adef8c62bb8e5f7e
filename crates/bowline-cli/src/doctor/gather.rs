//! Gathers the facts. What cannot be had is noted, and the rest is gathered all the same.

use bowline_manager::rbac::{Rights, Rule, SYSTEM_NAMESPACE, Scope};
use bowline_openstack::cleanup;
use bowline_openstack::config::{ConfigSource, Environment};
use http::{Request, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use openstack_client::identity::Version;
use openstack_client::{Offered, Service};

use super::facts::{BalancerFact, ClockFact, CloudFacts, ConfigFacts, Facts, InsecureEndpoint, MissingRight};
use super::health;
use crate::ending::Ending;
use crate::session::cloud::{CloudAccess, settings};
use crate::session::cluster::Cluster;
use crate::session::managers::{Manager, Program};
use crate::session::{Session, managers};
use crate::sight::{self, Sight};
use crate::status::leader;
use crate::way;

/// All facts that can be had.
pub(super) async fn gather(session: &Session, way: &way::Arguments) -> Result<Facts, Ending> {
    let Sight { nodes, services } = Sight::read(session).await?;
    let mut not_looked_at = Vec::new();
    let leader = leader::read_if_allowed(session, &mut not_looked_at).await;
    let mut facts = Facts {
        now: session.now,
        cluster_name: session.cluster_name.to_string(),
        cluster_uid: session.cluster_uid.clone(),
        nodes,
        services,
        managers: None,
        leader,
        degraded: None,
        missing_rights: None,
        config: ConfigFacts::default(),
        cloud: None,
        machines: None,
        clocks: Vec::new(),
        not_looked_at,
    };
    managers_of(session, &mut facts).await;
    match health::read(session, &facts.leader, way).await {
        Ok(degraded) => facts.degraded = degraded,
        Err(why) => facts.not_looked_at.push(format!("the health of the leader: {why}")),
    }
    clock_of_cluster(&session.cluster, &mut facts).await;
    config(session, &mut facts).await;
    if facts.config.problem.is_none() {
        cloud(session, &mut facts).await;
    }
    Ok(facts)
}

async fn managers_of(session: &Session, facts: &mut Facts) {
    match session.cluster.pods(&session.access.manager_namespace).await {
        Ok(pods) => facts.managers = Some(managers::find(&pods)),
        Err(ending) => return facts.not_looked_at.push(format!("the managers: {ending}")),
    }
    let mut working = facts.managers.iter().flatten().filter(|manager| manager.program == Program::Bowline);
    let Some(manager) = working.next().cloned() else { return };
    match missing_rights(&session.cluster, &manager).await {
        Ok(missing) => facts.missing_rights = missing,
        Err(ending) => facts.not_looked_at.push(format!("the rights of the manager: {ending}")),
    }
}

/// The rights of the table that the account of a manager lacks; none if its account is not known here.
async fn missing_rights(cluster: &Cluster, manager: &Manager) -> Result<Option<Vec<MissingRight>>, Ending> {
    // Such a process is somebody else to the API server than its pod.
    if manager.flags.get("kubeconfig").is_some_and(|path| !path.is_empty()) {
        return Ok(None);
    }
    let of = |namespace: &str, account: &str| format!("system:serviceaccount:{namespace}:{account}");
    let own = of(&manager.namespace, &manager.account);
    let rights = Rights::common();
    let mut asked: Vec<(String, Vec<Rule>)> = Vec::new();
    if manager.flags.get("use-service-account-credentials").is_some_and(|value| value == "true") {
        asked.push((own, rights.of_process()));
        for account in rights.accounts() {
            asked.push((of(SYSTEM_NAMESPACE, &account), rights.of_account(&account)));
        }
    } else {
        asked.push((own, rights.of_one_identity()));
    }
    let mut missing = Vec::new();
    for (account, rules) in asked {
        for rule in &rules {
            missing.extend(lacks(cluster, manager, &account, rule).await?);
        }
    }
    Ok(Some(missing))
}

async fn lacks(
    cluster: &Cluster,
    manager: &Manager,
    account: &str,
    rule: &Rule,
) -> Result<Vec<MissingRight>, Ending> {
    let (resource, subresource) = match rule.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (rule.resource, None),
    };
    let namespace = match rule.scope {
        Scope::Cluster => None,
        Scope::LeaseNamespace | Scope::ReportNamespace => Some(manager.namespace.clone()),
        Scope::SystemNamespace => Some(SYSTEM_NAMESPACE.to_owned()),
    };
    let mut missing = Vec::new();
    for verb in &rule.verbs {
        let what = ResourceAttributes {
            verb: Some((*verb).to_owned()),
            group: Some(rule.group.to_owned()),
            resource: Some(resource.to_owned()),
            subresource: subresource.clone(),
            namespace: namespace.clone(),
            name: rule.names.first().cloned(),
            ..ResourceAttributes::default()
        };
        if !cluster.may(account, what).await? {
            let what = format!("{verb} {}", rule.resource);
            missing.push(MissingRight { account: account.to_owned(), what, why: rule.why.to_owned() });
        }
    }
    Ok(missing)
}

/// The clock of the API server, by the date of an answer.
async fn clock_of_cluster(cluster: &Cluster, facts: &mut Facts) {
    let Ok(request) = Request::get("/version").body(kube::client::Body::empty()) else { return };
    let Ok(answer) = cluster.client.send(request).await else { return };
    let date = answer.headers().get(header::DATE).and_then(|value| value.to_str().ok());
    let told = date.and_then(|date| rfc2822::parse(date).ok()).map(|date| date.timestamp());
    facts.clocks.extend(told.map(|told| clock("the API server", told)));
}

fn clock(of: &'static str, told: Timestamp) -> ClockFact {
    ClockFact { of, ahead_seconds: told.duration_since(Timestamp::now()).as_secs() }
}

/// The configuration: whether it can be used, and what is doubtful in it.
async fn config(session: &Session, facts: &mut Facts) {
    let found = match settings(session).await {
        Ok(found) => found,
        Err(ending) => {
            facts.config.problem = Some(ending.why);
            return;
        }
    };
    match found.site(Environment::of_process()).read().await {
        Ok(configuration) => {
            facts.config.warnings = configuration.warnings.iter().map(ToString::to_string).collect();
            facts.config.balancing = configuration.conf.load_balancer;
        }
        Err(why) => facts.config.problem = Some(format!("{}: {why}", found.from)),
    }
}

async fn cloud(session: &Session, facts: &mut Facts) {
    let access = match CloudAccess::prepare(session).await {
        Ok(access) => access,
        Err(ending) => {
            facts.config.problem = Some(ending.why);
            return;
        }
    };
    let mut told = CloudFacts { login: access.problem.clone(), ..CloudFacts::default() };
    if told.login.is_some() {
        facts.cloud = Some(told);
        return;
    }
    if let Ok(identity) = access.client.identity().await {
        facts.clocks.extend(identity.issued_at.map(|at| clock("Keystone", at)));
    }
    insecure(&access, &mut told).await;
    match sight::machines(session, &access, &facts.nodes).await {
        Ok(machines) => facts.machines = Some(machines),
        Err(_refused) if told.refuses(&[Service::Compute, Service::Network]) => {}
        Err(why) => told.missing.push(why),
    }
    match access.load_balancers() {
        Ok(_there) => octavia(&access, facts, &mut told).await,
        Err(_refused) if told.refuses(&[Service::LoadBalancer, Service::Network]) => {}
        Err(why) if !told.missing.contains(&why) => told.missing.push(why),
        Err(_said) => {}
    }
    facts.cloud = Some(told);
}

impl CloudFacts {
    /// Whether one of these services is not called because its endpoint has no TLS.
    fn refuses(&self, services: &[Service]) -> bool {
        self.insecure.iter().any(|one| !one.allowed && services.contains(&one.service))
    }
}

/// The services whose endpoint has no TLS although Keystone has it.
async fn insecure(access: &CloudAccess, told: &mut CloudFacts) {
    for service in [Service::Compute, Service::Network, Service::LoadBalancer, Service::KeyManager] {
        // Without a token nothing is known of the catalog, which is a finding of its own.
        if let Ok(Offered::Insecure { allowed }) = access.client.offered(service).await {
            told.insecure.push(InsecureEndpoint { service, allowed });
        }
    }
}

async fn octavia(access: &CloudAccess, facts: &mut Facts, told: &mut CloudFacts) {
    match access.client.load_balancer().api_versions().await {
        Ok(versions) => told.octavia = versions.iter().filter_map(Version::number).max(),
        Err(error) => facts.not_looked_at.push(format!("the version of Octavia: {error}")),
    }
    match cleanup::observe(&access.client).await {
        Ok(inventory) => {
            let fact = |one: openstack_client::load_balancer::LoadBalancer| BalancerFact {
                id: one.id.to_string(),
                name: one.name,
                tags: one.tags,
                status: one.provisioning_status.to_string(),
            };
            told.balancers = inventory.balancers.into_iter().map(fact).collect();
        }
        Err(error) => facts.not_looked_at.push(format!("the load balancers of the project: {error}")),
    }
}
