//! The calls of Neutron: floating IPs, security groups, ports.

use bowline_cloud::{CloudError, ErrorClass};
use openstack_client::network::{
    FloatingIp, FloatingIpCreate, NewSecurityGroupRule, SecurityGroupCreate, Tagged,
};
use openstack_client::{Client, Error, FloatingIpId, PortId, SubnetId};
use tokio::time::Instant;

use super::port::{add_group, remove_group};
use super::{advice, advised, deleted, refused};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::step::Action;

/// What Neutron calls a subnet that has no address left.
const EXHAUSTED: [&str; 3] = [
    "IpAddressGenerationFailure",
    "ExternalIpAddressExhausted",
    "IpAddressGenerationFailureNoMatchingSubnet",
];

/// What Neutron calls a rule that is there already.
const RULE_EXISTS: &str = "SecurityGroupRuleExists";

impl Balancers {
    /// Performs a step of Neutron.
    pub(super) async fn perform_in_network(
        &self,
        client: &Client,
        action: &Action,
    ) -> Result<(), CloudError> {
        let neutron = client.network();
        let result = match action {
            Action::CreateFloatingIp { new, subnets } => {
                return self.create_floating_ip(client, new, subnets).await;
            }
            Action::CreateRules(_group, rules) => return create_rules(client, rules).await,
            Action::UpdateFloatingIp(id, update, seen) => {
                // Neutron compares the revision before it writes, so changes that come together would all succeed.
                let _turn = self.memory.floating_turn(id).await;
                let answer = neutron.update_floating_ip(id, update, seen.revision).await;
                self.remember_floating(update.port_id.as_ref(), Some(id), answer)
            }
            Action::DeleteFloatingIp(id) => {
                let result = deleted(neutron.delete_floating_ip(id).await);
                if result.is_ok() {
                    self.memory.gave_back(id);
                }
                self.memory.forget_floating(None, Some(id));
                result
            }
            Action::CreateGroup { name, description } => {
                let new = SecurityGroupCreate { name: name.clone(), description: description.clone() };
                let made = neutron.create_security_group(&new).await;
                made.map(|made| self.made_groups.made(name, made, Instant::now()))
            }
            Action::DeleteRule(id, _rule) => deleted(neutron.delete_security_group_rule(id).await),
            Action::AddPortGroup { port, group } => {
                return add_group(&neutron, &self.port_turns, port, group).await;
            }
            Action::RemovePortGroup { port, group } => {
                return remove_group(&neutron, &self.port_turns, port, group).await;
            }
            Action::DeletePortTag { port, tag } => deleted(neutron.remove_tag(Tagged::Port(port), tag).await),
            Action::DeleteGroup(id) => {
                let result = deleted(neutron.delete_security_group(id).await);
                if result.is_ok() {
                    self.made_groups.deleted(id, Instant::now());
                }
                result
            }
            // All of them named, so that a new action cannot be forgotten here.
            Action::CreateBalancer(_)
            | Action::UpdateBalancer(_)
            | Action::DeleteBalancer { .. }
            | Action::CreateListener(_)
            | Action::UpdateListener(..)
            | Action::DeleteListener(_)
            | Action::CreatePool(_)
            | Action::UpdatePool(..)
            | Action::DeletePool(_)
            | Action::SetMembers { .. }
            | Action::CreateMember(..)
            | Action::DeleteMember { .. }
            | Action::CreateMonitor(_)
            | Action::UpdateMonitor(..)
            | Action::DeleteMonitor(_) => {
                let why = "a step on a load balancer does not say on which; this is a defect of Bowline, please report it";
                return Err(CloudError::new(ErrorClass::Fatal, why));
            }
        };
        result.map_err(refused)
    }

    /// Makes a floating IP in the first subnet that has an address left.
    async fn create_floating_ip(
        &self,
        client: &Client,
        new: &FloatingIpCreate,
        subnets: &[SubnetId],
    ) -> Result<(), CloudError> {
        let wishes: Vec<FloatingIpCreate> = if subnets.is_empty() {
            vec![new.clone()]
        } else {
            let within =
                |subnet: &SubnetId| FloatingIpCreate { subnet_id: Some(subnet.clone()), ..new.clone() };
            subnets.iter().map(within).collect()
        };
        let mut last = None;
        for wish in wishes {
            let answer = client.network().create_floating_ip(&wish).await;
            match self.remember_floating(new.port_id.as_ref(), None, answer) {
                Ok(()) => return Ok(()),
                Err(error) if error.fault().is_some_and(|fault| EXHAUSTED.contains(&fault)) => {
                    last = Some(error);
                }
                Err(error) => return Err(advised(advice::on_floating_ip(&wish, &error), error)),
            }
        }
        Err(last
            .map_or_else(|| CloudError::invalid("there is no subnet to take a floating IP from"), refused))
    }

    /// What is known of a port after one was led to it, or somewhere else.
    fn remember_floating(
        &self,
        port: Option<&PortId>,
        before: Option<&FloatingIpId>,
        answer: Result<FloatingIp, Error>,
    ) -> Result<(), Error> {
        if before.is_some() {
            self.memory.forget_floating(None, before);
        }
        match answer {
            Ok(floating) => {
                match port {
                    Some(port) => self.memory.leads(port, floating, Instant::now()),
                    None if before.is_none() => self.memory.made_floating(floating.id),
                    None => {}
                }
                Ok(())
            }
            Err(error) => {
                let exhausted = error.fault().is_some_and(|fault| EXHAUSTED.contains(&fault));
                if !exhausted {
                    self.memory.forget_floating(port, None);
                }
                Err(error)
            }
        }
    }
}

/// Makes rules. If one of them is there already Neutron makes none of them; then they are made one by one.
async fn create_rules(client: &Client, rules: &[NewSecurityGroupRule]) -> Result<(), CloudError> {
    let neutron = client.network();
    let exists = |error: &Error| error.fault() == Some(RULE_EXISTS);
    match neutron.create_security_group_rules(rules).await {
        Ok(_made) => return Ok(()),
        Err(error) if exists(&error) => {}
        Err(error) => return Err(refused(error)),
    }
    for rule in rules {
        match neutron.create_security_group_rule(rule).await {
            Err(error) if !exists(&error) => return Err(refused(error)),
            _ => {}
        }
    }
    Ok(())
}
