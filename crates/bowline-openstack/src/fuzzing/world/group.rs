//! The security group of a Service, as Neutron changes it.

use serde_json::json;

use super::{World, from};
use crate::loadbalancer::group::FoundGroup;
use crate::loadbalancer::step::Action;

impl World {
    pub(super) fn change_group(&mut self, action: Action) {
        if let Action::CreateGroup { name, description } = action {
            // Neutron gives a new one what lets everything out.
            let out = |id: String, family: &str| json!({ "id": id, "security_group_id": "sg-new", "direction": "egress", "ethertype": family });
            let rules = json!([out(self.next("rule"), "IPv4"), out(self.next("rule"), "IPv6")]);
            let ports = self.group.take().map(|found| found.ports).unwrap_or_default();
            let group = json!({ "id": "sg-new", "name": name, "description": description, "security_group_rules": rules });
            self.group = Some(FoundGroup { group: from(group), ports });
            return;
        }
        let new_ids: Vec<String> = match &action {
            Action::CreateRules(_, rules) => rules.iter().map(|_rule| self.next("rule")).collect(),
            _ => Vec::new(),
        };
        let Some(found) = &mut self.group else { panic!("no group for {action:?}") };
        let port_of = |found: &mut FoundGroup, id: &openstack_client::PortId| {
            found.ports.iter().position(|port| port.id == *id).unwrap()
        };
        match action {
            Action::CreateRules(_, rules) => {
                for (rule, id) in rules.iter().zip(new_ids) {
                    let mut value = serde_json::to_value(rule).unwrap();
                    value["id"] = json!(id);
                    found.group.rules.as_mut().unwrap().push(from(value));
                }
            }
            Action::DeleteRule(id, _) => {
                let rules = found.group.rules.as_mut().unwrap();
                let before = rules.len();
                rules.retain(|rule| rule.id != id);
                assert_eq!(rules.len() + 1, before, "no rule {id}");
            }
            Action::AddPortGroup { port, group } => {
                let at = port_of(found, &port);
                found.ports[at].security_groups.as_mut().unwrap().push(group);
            }
            Action::RemovePortGroup { port, group } => {
                let at = port_of(found, &port);
                found.ports[at].security_groups.as_mut().unwrap().retain(|own| *own != group);
            }
            Action::DeletePortTag { port, tag } => {
                let at = port_of(found, &port);
                found.ports[at].tags.retain(|own| *own != tag);
            }
            Action::DeleteGroup(id) => {
                let used = found
                    .ports
                    .iter()
                    .any(|port| port.security_groups.iter().flatten().any(|own| *own == id));
                assert!(!used, "a port has the group");
                self.group = None;
            }
            other => panic!("not in this model: {other:?}"),
        }
    }
}
