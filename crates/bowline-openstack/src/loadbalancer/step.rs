//! The steps of a plan: each is one call that changes the cloud. A step contains everything that the call needs; the executor makes no
//! decisions.

use std::fmt;

use bowline_cloud::{SetChange, Step, StepFacts, Urgency, Verb};
use openstack_client::load_balancer::{
    BatchMember, HealthMonitorCreate, HealthMonitorUpdate, ListenerCreate, ListenerUpdate,
    LoadBalancerUpdate, PoolCreate, PoolUpdate,
};
use openstack_client::network::{FloatingIp, FloatingIpCreate, FloatingIpUpdate, NewSecurityGroupRule};
use openstack_client::{
    FloatingIpId, HealthMonitorId, ListenerId, LoadBalancerId, MemberId, PoolId, PortId, SecurityGroupId,
    SecurityGroupRuleId, SubnetId,
};

use super::group::WantedRule;
use super::members::Members;
use super::wanted::NewBalancer;

/// One call that changes the cloud.
#[derive(Debug, Clone)]
pub struct CloudStep {
    /// The change.
    pub action: Action,
    /// The load balancer that Octavia changes, with its observed version; `None` when creating one and for Neutron steps.
    pub on: Option<Seen>,
    /// A load balancer that must still have its observed version, although this step does not change it.
    pub while_as: Option<Seen>,
    /// The priority of the call: whether calls that users wait for go first.
    pub urgency: Urgency,
}

/// The observed version of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub id: LoadBalancerId,
    /// The number of changes that this process had made to it when it was observed. If the number is higher now, the step is stale and is
    /// not performed.
    pub version: u64,
}

/// The observed state of a floating IP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenFloatingIp {
    /// The revision number in Neutron, if Neutron returned one. Any later change makes the step stale.
    pub revision: Option<u64>,
    /// The port that it was attached to.
    pub port: Option<PortId>,
}

/// The change that a step makes.
#[derive(Debug, Clone)]
pub enum Action {
    /// Creates a load balancer.
    CreateBalancer(Box<NewBalancer>),
    /// Changes its name or tags.
    UpdateBalancer(LoadBalancerUpdate),
    /// Deletes it.
    DeleteBalancer {
        /// Its name.
        name: String,
        /// Whether its listeners, pools, members and monitors are deleted with it.
        cascade: bool,
    },
    /// Creates a listener.
    CreateListener(Box<ListenerCreate>),
    /// Changes one.
    UpdateListener(ListenerId, Box<ListenerUpdate>),
    /// Deletes one.
    DeleteListener(ListenerId),
    /// Creates a pool.
    CreatePool(Box<PoolCreate>),
    /// Changes one.
    UpdatePool(PoolId, Box<PoolUpdate>),
    /// Deletes one.
    DeletePool(PoolId),
    /// Replaces the members of a pool.
    SetMembers {
        /// The pool.
        pool: PoolId,
        /// Its new members.
        members: Members,
        /// The size of the change, for the limit on removals.
        change: SetChange,
    },
    /// Adds a member.
    CreateMember(PoolId, BatchMember),
    /// Deletes a member.
    DeleteMember {
        /// The pool.
        pool: PoolId,
        /// The member.
        member: MemberId,
        /// The size of the whole change that this deletion is part of.
        change: SetChange,
    },
    /// Creates a health monitor.
    CreateMonitor(Box<HealthMonitorCreate>),
    /// Changes one.
    UpdateMonitor(HealthMonitorId, HealthMonitorUpdate),
    /// Deletes one.
    DeleteMonitor(HealthMonitorId),
    /// Creates a floating IP, attached to the load balancer unless the request has no port.
    CreateFloatingIp {
        /// The request.
        new: FloatingIpCreate,
        /// The subnets to try in order while they have no free address; if empty, Neutron chooses.
        subnets: Vec<SubnetId>,
    },
    /// Attaches or detaches a floating IP, or changes its description. Performed only while it has the observed revision, if there is one.
    UpdateFloatingIp(FloatingIpId, FloatingIpUpdate, SeenFloatingIp),
    /// Deletes a floating IP.
    DeleteFloatingIp(FloatingIpId),
    /// Creates a security group.
    CreateGroup {
        /// Its name.
        name: String,
        /// Its description.
        description: String,
    },
    /// Creates rules, all of them or none.
    CreateRules(SecurityGroupId, Vec<NewSecurityGroupRule>),
    /// Deletes a rule.
    DeleteRule(SecurityGroupRuleId, Option<WantedRule>),
    /// Adds a security group to a port; other groups stay.
    AddPortGroup {
        /// The port.
        port: PortId,
        /// The group.
        group: SecurityGroupId,
    },
    /// Removes a security group from a port; other groups stay.
    RemovePortGroup {
        /// The port.
        port: PortId,
        /// The group.
        group: SecurityGroupId,
    },
    /// Removes a tag from a port; old releases of OCCM tagged ports.
    DeletePortTag {
        /// The port.
        port: PortId,
        /// The tag.
        tag: String,
    },
    /// Deletes a security group.
    DeleteGroup(SecurityGroupId),
}

impl Action {
    /// An update of a floating IP, valid for its observed revision.
    #[must_use]
    pub fn update_floating_ip(floating: &FloatingIp, change: FloatingIpUpdate) -> Self {
        let seen = SeenFloatingIp { revision: floating.revision_number, port: floating.port_id.clone() };
        Self::UpdateFloatingIp(floating.id.clone(), change, seen)
    }
}

impl CloudStep {
    /// A Neutron step, or one that creates a load balancer.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self { action, on: None, while_as: None, urgency: Urgency::User }
    }

    /// A step that changes a load balancer, valid for its observed version.
    #[must_use]
    pub const fn on(seen: Seen, action: Action) -> Self {
        Self { action, on: Some(seen), while_as: None, urgency: Urgency::User }
    }

    /// A Neutron step that is valid only while a load balancer has its observed version.
    #[must_use]
    pub const fn while_as(seen: Seen, action: Action) -> Self {
        Self { action, on: None, while_as: Some(seen), urgency: Urgency::User }
    }

    /// Sets the urgency of a step that removes no member. All other steps keep the high priority, [`Urgency::User`]: a Node that has left
    /// has to be removed quickly, since traffic to it is lost.
    pub(super) fn for_whom_it_is(&mut self, urgency: Urgency) {
        if let Action::SetMembers { change: SetChange { removed: 0, .. }, .. } | Action::CreateMember(..) =
            &self.action
        {
            self.urgency = urgency;
        }
    }

    fn balancer(&self) -> &str {
        self.on.as_ref().map_or("", |seen| seen.id.as_str())
    }

    /// The kinds of objects that are deleted together with the target.
    const fn takes(&self) -> &'static [&'static str] {
        match &self.action {
            Action::DeleteBalancer { .. } => &["listener", "pool", "member", "health monitor"],
            Action::DeletePool(_) => &["member", "health monitor"],
            Action::DeleteGroup(_) => &["security group rule"],
            _ => &[],
        }
    }

    fn target(&self) -> String {
        match &self.action {
            Action::CreateBalancer(new) => new.frame.name.clone(),
            Action::UpdateBalancer(_) | Action::DeleteBalancer { .. } => self.balancer().to_owned(),
            Action::CreateListener(new) => new.name.clone(),
            Action::CreatePool(new) => new.name.clone(),
            Action::CreateMonitor(new) => new.name.clone(),
            Action::UpdateListener(id, _) | Action::DeleteListener(id) => id.to_string(),
            Action::UpdatePool(id, _) | Action::DeletePool(id) => id.to_string(),
            Action::SetMembers { pool, .. } => pool.to_string(),
            Action::CreateMember(_, member) => member.name.clone(),
            Action::DeleteMember { member, .. } => member.to_string(),
            Action::UpdateMonitor(id, _) | Action::DeleteMonitor(id) => id.to_string(),
            Action::CreateFloatingIp { new, .. } => new.description.clone(),
            Action::UpdateFloatingIp(id, ..) | Action::DeleteFloatingIp(id) => id.to_string(),
            Action::CreateGroup { name, .. } => name.clone(),
            Action::CreateRules(id, rules) => format!("{id} ({})", in_words(rules)),
            Action::DeleteGroup(id) => id.to_string(),
            Action::DeleteRule(id, _) => id.to_string(),
            Action::AddPortGroup { port, .. }
            | Action::RemovePortGroup { port, .. }
            | Action::DeletePortTag { port, .. } => port.to_string(),
        }
    }
}

/// How many rules a message lists.
const RULES_TOLD: usize = 4;

/// Lists rules. They have no names, so the create budget distinguishes them by this text.
fn in_words(rules: &[NewSecurityGroupRule]) -> String {
    let told: Vec<String> = rules.iter().take(RULES_TOLD).map(rule_in_words).collect();
    let more = rules.len().saturating_sub(RULES_TOLD);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", told.join(", "))
}

fn rule_in_words(rule: &NewSecurityGroupRule) -> String {
    let protocol = rule.protocol.as_deref().unwrap_or("any");
    let ports = match (rule.port_range_min, rule.port_range_max) {
        (Some(low), Some(high)) if low != high => format!(" {low}-{high}"),
        (Some(port), _) => format!(" {port}"),
        (None, _) => String::new(),
    };
    let from = rule.remote_ip_prefix.as_deref().map(|range| format!(" from {range}")).unwrap_or_default();
    format!("{protocol}{ports}{from}")
}

impl Step for CloudStep {
    fn facts(&self) -> StepFacts {
        let (verb, kind, set) = match &self.action {
            Action::CreateBalancer(_) => (Verb::Create, "load balancer", None),
            Action::UpdateBalancer(_) => (Verb::Update, "load balancer", None),
            Action::DeleteBalancer { .. } => (Verb::Delete, "load balancer", None),
            Action::CreateListener(_) => (Verb::Create, "listener", None),
            Action::UpdateListener(..) => (Verb::Update, "listener", None),
            Action::DeleteListener(_) => (Verb::Delete, "listener", None),
            Action::CreatePool(_) => (Verb::Create, "pool", None),
            Action::UpdatePool(..) => (Verb::Update, "pool", None),
            Action::DeletePool(_) => (Verb::Delete, "pool", None),
            Action::SetMembers { change, .. } => (Verb::Update, "pool", Some(*change)),
            Action::CreateMember(..) => (Verb::Create, "member", None),
            Action::DeleteMember { change, .. } => (Verb::Delete, "member", Some(*change)),
            Action::CreateMonitor(_) => (Verb::Create, "health monitor", None),
            Action::UpdateMonitor(..) => (Verb::Update, "health monitor", None),
            Action::DeleteMonitor(_) => (Verb::Delete, "health monitor", None),
            Action::CreateFloatingIp { .. } => (Verb::Create, "floating ip", None),
            // Only the owner changes, not the port: no Service gets another address by this step.
            Action::UpdateFloatingIp(_, FloatingIpUpdate { port_id, description: Some(_) }, seen)
                if *port_id == seen.port =>
            {
                (Verb::Update, "floating ip description", None)
            }
            Action::UpdateFloatingIp(..) => (Verb::Update, "floating ip", None),
            Action::DeleteFloatingIp(_) => (Verb::Delete, "floating ip", None),
            Action::CreateGroup { .. } => (Verb::Create, "security group", None),
            Action::CreateRules(..) => (Verb::Create, "security group rule", None),
            Action::DeleteRule(..) => (Verb::Delete, "security group rule", None),
            Action::AddPortGroup { .. } | Action::RemovePortGroup { .. } | Action::DeletePortTag { .. } => {
                (Verb::Update, "port", None)
            }
            Action::DeleteGroup(_) => (Verb::Delete, "security group", None),
        };
        let facts = StepFacts::new(verb, kind, self.target()).taking(self.takes());
        match set {
            Some(change) => facts.replacing(change),
            None => facts,
        }
    }
}

impl fmt::Display for CloudStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = self.facts();
        let verb = match facts.verb {
            Verb::Create => "create",
            Verb::Update => "change",
            Verb::Delete => "delete",
        };
        match &self.action {
            Action::SetMembers { pool, members, .. } => {
                let name = |member: BatchMember| match member.weight {
                    Some(weight) => format!("{}:{weight}", member.name),
                    None => member.name,
                };
                let names: Vec<String> = members.each().map(name).collect();
                write!(f, "give pool {pool} the members [{}]", names.join(" "))
            }
            Action::UpdateFloatingIp(id, FloatingIpUpdate { port_id: None, .. }, _) => {
                write!(f, "detach floating ip {id}")
            }
            Action::UpdateFloatingIp(id, FloatingIpUpdate { port_id, description: Some(text) }, seen)
                if *port_id == seen.port =>
            {
                write!(f, "describe floating ip {id} as {text:?}")
            }
            Action::UpdateFloatingIp(id, FloatingIpUpdate { port_id: Some(port), description }, _) => {
                write!(f, "attach floating ip {id} to port {port}")?;
                description.iter().try_for_each(|text| write!(f, " and describe it as {text:?}"))
            }
            Action::AddPortGroup { port, group } => write!(f, "add security group {group} to port {port}"),
            Action::RemovePortGroup { port, group } => {
                write!(f, "take security group {group} off port {port}")
            }
            Action::DeletePortTag { port, tag } => write!(f, "take the tag {tag} from port {port}"),
            _ => {
                write!(f, "{verb} {} {}", facts.kind, facts.target)?;
                match &self.on {
                    Some(seen) if facts.kind != "load balancer" => write!(f, " of load balancer {}", seen.id),
                    _ => Ok(()),
                }
            }
        }
    }
}
