//! The steps of a plan: each is one call that changes the cloud. They say all that the call needs; performing them chooses nothing.

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
    /// What is done.
    pub action: Action,
    /// The load balancer that Octavia changes, as it was seen; none for a new one and for what is Neutron's.
    pub on: Option<Seen>,
    /// The load balancer that must still be as it was seen, though this step does not change it.
    pub while_as: Option<Seen>,
    /// Whether users' calls may go first.
    pub urgency: Urgency,
}

/// A load balancer as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub id: LoadBalancerId,
    /// How much this process had done to it by then. After more than that, the step was planned for something else.
    pub version: u64,
}

/// A floating IP as it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenFloatingIp {
    /// The revision that Neutron gave it. Any later change makes the step stale.
    pub revision: Option<u64>,
    /// The port that it led to.
    pub port: Option<PortId>,
}

/// What is done.
#[derive(Debug, Clone)]
pub enum Action {
    /// Makes a load balancer.
    CreateBalancer(Box<NewBalancer>),
    /// Changes its name or tags.
    UpdateBalancer(LoadBalancerUpdate),
    /// Deletes it, with all that hangs on it if told so.
    DeleteBalancer {
        /// Its name.
        name: String,
        /// With all that hangs on it.
        cascade: bool,
    },
    /// Makes a listener.
    CreateListener(Box<ListenerCreate>),
    /// Changes one.
    UpdateListener(ListenerId, Box<ListenerUpdate>),
    /// Deletes one.
    DeleteListener(ListenerId),
    /// Makes a pool.
    CreatePool(Box<PoolCreate>),
    /// Changes one.
    UpdatePool(PoolId, Box<PoolUpdate>),
    /// Deletes one.
    DeletePool(PoolId),
    /// Gives a pool exactly these members.
    SetMembers {
        /// The pool.
        pool: PoolId,
        /// Its members from now on.
        members: Members,
        /// How the set changes.
        change: SetChange,
    },
    /// Adds a member.
    CreateMember(PoolId, BatchMember),
    /// Takes a member away.
    DeleteMember {
        /// The pool.
        pool: PoolId,
        /// The member.
        member: MemberId,
        /// How the set changes, by all members that go.
        change: SetChange,
    },
    /// Makes a health monitor.
    CreateMonitor(Box<HealthMonitorCreate>),
    /// Changes one.
    UpdateMonitor(HealthMonitorId, HealthMonitorUpdate),
    /// Deletes one.
    DeleteMonitor(HealthMonitorId),
    /// Makes a floating IP that leads to the load balancer.
    CreateFloatingIp {
        /// The floating IP.
        new: FloatingIpCreate,
        /// The subnets to try, one after the other while they have no address left; any if there is none.
        subnets: Vec<SubnetId>,
    },
    /// Leads one to the load balancer, or nowhere, or describes it anew; only while it has the revision that was seen, if one was.
    UpdateFloatingIp(FloatingIpId, FloatingIpUpdate, SeenFloatingIp),
    /// Gives one back.
    DeleteFloatingIp(FloatingIpId),
    /// Makes a security group.
    CreateGroup {
        /// Its name.
        name: String,
        /// What it is for.
        description: String,
    },
    /// Makes rules, all of them or none.
    CreateRules(SecurityGroupId, Vec<NewSecurityGroupRule>),
    /// Deletes a rule.
    DeleteRule(SecurityGroupRuleId, Option<WantedRule>),
    /// Gives a port one more security group; the others stay.
    AddPortGroup {
        /// The port.
        port: PortId,
        /// The group.
        group: SecurityGroupId,
    },
    /// Takes a security group off a port; the others stay.
    RemovePortGroup {
        /// The port.
        port: PortId,
        /// The group.
        group: SecurityGroupId,
    },
    /// Takes a tag from a port; old releases of OCCM marked ports so.
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
    /// A change of a floating IP as it was seen.
    #[must_use]
    pub fn update_floating_ip(floating: &FloatingIp, change: FloatingIpUpdate) -> Self {
        let seen = SeenFloatingIp { revision: floating.revision_number, port: floating.port_id.clone() };
        Self::UpdateFloatingIp(floating.id.clone(), change, seen)
    }
}

impl CloudStep {
    /// A step of Neutron, or one that makes a load balancer.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self { action, on: None, while_as: None, urgency: Urgency::User }
    }

    /// A step on a load balancer as it was seen.
    #[must_use]
    pub const fn on(seen: Seen, action: Action) -> Self {
        Self { action, on: Some(seen), while_as: None, urgency: Urgency::User }
    }

    /// A step of Neutron that is right only as long as a load balancer is as it was seen.
    #[must_use]
    pub const fn while_as(seen: Seen, action: Action) -> Self {
        Self { action, on: None, while_as: Some(seen), urgency: Urgency::User }
    }

    /// Lets users' calls go first if nobody waits for this one: it only adds members. A node that has left is taken out as soon as
    /// ever, since traffic to it is lost.
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

    /// What goes with it.
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

/// So many rules are told of one by one.
const RULES_TOLD: usize = 4;

/// Which rules: they have no names. The create budget tells them apart by this.
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
            // Whose it is changes, and not where it leads: no Service is reached at another address by it.
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
