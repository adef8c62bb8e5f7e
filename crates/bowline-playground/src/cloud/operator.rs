//! What the operator of the cloud does, and others who have the right: with servers, with load balancers, with the people in
//! Keystone. Past the manager, and past injected faults.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;
use sim_openstack::compute::{NewServer, Server, Transition, VmState, boot};
use sim_openstack::identity::Project;
use sim_openstack::load_balancer::LoadBalancer;
use sim_openstack::{ADMIN, Effect, Rule, State};

use super::Cloud;

/// The metadata of a server that says to which cluster it belongs; without it, to the first.
pub(crate) const OF_CLUSTER: &str = "cluster";

/// A server, as far as its kubelet is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Its identifier.
    pub(crate) id: String,
    /// Its name, and the Node's.
    pub(crate) name: String,
    /// Whether it runs.
    pub(crate) is_up: bool,
}

impl Cloud {
    /// The servers of a cluster.
    pub(crate) fn machines(&self, cluster: &str) -> Vec<Machine> {
        self.service.with(|cloud| {
            let servers = cloud.state().compute.servers.iter();
            let ours = servers.filter(|server| {
                server.project_id == self.estate.project
                    && server.metadata.get(OF_CLUSTER).map_or("", String::as_str) == cluster
            });
            ours.map(|server| Machine {
                id: server.id.clone(),
                name: server.name.clone(),
                is_up: server.vm_state == VmState::Active
                    && !matches!(server.transition, Some((Transition::Delete, _))),
            })
            .collect()
        })
    }

    /// Makes a server that runs at once; its kubelet follows.
    pub(crate) fn add_server(&self, name: &str, cluster: &str) -> String {
        let new = self.new_server(name, cluster);
        self.service.with(|cloud| boot(cloud.world(), new))
    }

    /// Makes a server that runs at once and that Nova knows nothing of yet.
    pub(crate) fn hidden_server(&self, name: &str) -> Option<Server> {
        let new = self.new_server(name, "");
        self.service.with(|cloud| {
            let id = boot(cloud.world(), new);
            let now = cloud.now();
            cloud.settle(now);
            cloud.edit(|state| state.compute.servers.remove(&id))
        })
    }

    /// Nova knows of it now; its kubelet follows.
    pub(crate) fn show_server(&self, server: Server) {
        self.service.with(|cloud| cloud.edit(|state| state.compute.servers.insert(server)));
    }

    fn new_server(&self, name: &str, cluster: &str) -> NewServer {
        let metadata = match cluster {
            "" => BTreeMap::new(),
            _ => BTreeMap::from([(OF_CLUSTER.to_owned(), cluster.to_owned())]),
        };
        NewServer { metadata, ..self.estate.new_server(name) }
    }

    /// Deletes the servers with a name.
    pub(crate) fn delete_server(&self, name: &str) {
        let ids: Vec<String> = self.service.with(|cloud| {
            let servers = cloud.state().compute.servers.iter().filter(|server| server.name == name);
            servers.map(|server| server.id.clone()).collect()
        });
        for id in ids {
            self.operate(Method::DELETE, &format!("/compute/v2.1/servers/{id}"), &Value::Null);
        }
    }

    /// Adds a rule by which requests fail.
    pub(crate) fn fail(&self, rule: Rule) {
        self.service.with(|cloud| cloud.faults().add(rule));
    }

    /// Nothing fails any more.
    pub(crate) fn mend(&self) {
        self.service.with(|cloud| cloud.faults().clear());
    }

    /// Makes every token worthless.
    pub(crate) fn revoke_tokens(&self) {
        self.service.with(|cloud| cloud.edit(|state| state.identity.tokens.clear()));
    }

    /// Gives the manager's user another password.
    pub(crate) fn change_password(&self, password: &str) {
        self.service.with(|cloud| {
            cloud.edit(|state| {
                if let Some(user) = state.identity.users.get_mut(&self.estate.user) {
                    password.clone_into(&mut user.password);
                }
            });
        });
    }

    /// Gives the name of the cluster's project to a new, empty one, in which the manager's user has the same roles. Answers its
    /// identifier.
    pub(crate) fn swap_project(&self) -> String {
        let id = "5".repeat(32);
        self.service.with(|cloud| {
            cloud.edit(|state| {
                let identity = &mut state.identity;
                let Some(old) = identity.projects.get_mut(&self.estate.project) else { return };
                let new = Project { id: id.clone(), ..old.clone() };
                old.name = format!("{}-retired", old.name);
                identity.projects.insert(id.clone(), new);
                let roles: Vec<_> = identity
                    .assignments
                    .iter()
                    .filter(|(_, project, _)| *project == self.estate.project)
                    .cloned()
                    .collect();
                identity
                    .assignments
                    .extend(roles.into_iter().map(|(user, _, role)| (user, id.clone(), role)));
            });
        });
        self.revoke_tokens();
        id
    }

    /// Undoes [`swap_project`](Self::swap_project).
    pub(crate) fn swap_project_back(&self, id: &str) {
        self.service.with(|cloud| {
            cloud.edit(|state| {
                let Some(new) = state.identity.projects.remove(id) else { return };
                if let Some(old) = state.identity.projects.get_mut(&self.estate.project) {
                    old.name = new.name;
                }
            });
        });
        self.revoke_tokens();
    }

    /// The load balancers, all of them.
    pub(crate) fn balancers(&self) -> Vec<LoadBalancer> {
        self.service.with(|cloud| cloud.state().load_balancer.load_balancers.iter().cloned().collect())
    }

    /// The addresses of the members of a load balancer.
    pub(crate) fn members(&self, balancer: &str) -> Vec<String> {
        self.service.with(|cloud| {
            let octavia = &cloud.state().load_balancer;
            let pools = octavia.pools.iter().filter(|pool| pool.loadbalancer_id == balancer);
            let members =
                pools.flat_map(|pool| octavia.members.iter().filter(|member| member.pool_id == pool.id));
            members.map(|member| member.address.clone()).collect()
        })
    }

    /// How many listeners a load balancer has.
    pub(crate) fn listeners(&self, balancer: &str) -> usize {
        self.service.with(|cloud| {
            let all = cloud.state().load_balancer.listeners.iter();
            all.filter(|listener| listener.loadbalancer_id == balancer).count()
        })
    }

    /// The floating IPs, as addresses.
    pub(crate) fn floating_ips(&self) -> Vec<String> {
        self.service.with(|cloud| {
            let all = cloud.state().network.floating_ips.iter();
            all.map(|one| one.floating_ip_address.clone()).collect()
        })
    }

    /// Deletes a load balancer with all that hangs on it.
    pub(crate) fn delete_balancer(&self, id: &str) {
        let path = format!("/load-balancer/v2/lbaas/loadbalancers/{id}?cascade=true");
        self.operate(Method::DELETE, &path, &Value::Null);
    }

    /// Sets a load balancer to ERROR.
    pub(crate) fn break_balancer(&self, id: &str) {
        self.service.with(|cloud| {
            cloud.edit(|state| {
                state.load_balancer.load_balancers.update(id, |balancer| {
                    "ERROR".clone_into(&mut balancer.provisioning_status);
                })
            });
        });
    }

    /// Ends the operation on a load balancer that was stuck.
    pub(crate) fn finish_balancer(&self, id: &str) {
        self.service.with(|cloud| {
            let world = cloud.world();
            world.schedule.add(world.now, Effect::LoadBalancer(id.to_owned()));
        });
    }

    /// Deletes one listener of a load balancer.
    pub(crate) fn delete_listener(&self, balancer: &str) {
        let id = self.service.with(|cloud| {
            let all = cloud.state().load_balancer.listeners.iter();
            all.filter(|one| one.loadbalancer_id == balancer).map(|one| one.id.clone()).next()
        });
        if let Some(id) = id {
            self.operate(Method::DELETE, &format!("/load-balancer/v2/lbaas/listeners/{id}"), &Value::Null);
        }
    }

    /// Deletes one member of a load balancer.
    pub(crate) fn delete_member(&self, balancer: &str) {
        let found = self.service.with(|cloud| first_member(cloud.state(), balancer));
        if let Some((pool, member)) = found {
            let path = format!("/load-balancer/v2/lbaas/pools/{pool}/members/{member}");
            self.operate(Method::DELETE, &path, &Value::Null);
        }
    }

    /// A request of the cloud's operator, whom no fault hits.
    fn operate(&self, method: Method, path: &str, body: &Value) -> Option<Value> {
        let (status, answer) = self.service.with(|cloud| cloud.ask(ADMIN, method, path, body));
        status.is_success().then_some(answer)
    }
}

fn first_member(state: &State, balancer: &str) -> Option<(String, String)> {
    let octavia = &state.load_balancer;
    let pool = octavia.pools.iter().find(|pool| pool.loadbalancer_id == balancer)?;
    let member = octavia.members.iter().find(|member| member.pool_id == pool.id)?;
    Some((pool.id.clone(), member.id.clone()))
}
