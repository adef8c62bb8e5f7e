//! What the operator of the cloud does, and others who have the right: servers, quotas, and what belongs to our Services.

use std::collections::BTreeSet;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sim_openstack::load_balancer::{LoadBalancer, LoadBalancerQuota, LoadBalancerState, set_failed};
use sim_openstack::{Fault, Rule, Service as CloudService, State};

use super::{World, balancer_name, is_added_by_hand, node_name, service_name};
use crate::action::Meddling;

/// Nothing that the cloud does with a load balancer takes longer.
const STUCK: jiff::SignedDuration = jiff::SignedDuration::from_mins(3);

impl World {
    pub(super) fn outage(&self, service: CloudService, length: Duration) {
        let now = self.cloud.now();
        let length = jiff::SignedDuration::try_from(length).expect("an outage is short");
        let end = now.checked_add(length).expect("within time");
        let rule = Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(service).between(now, end);
        self.cloud.with(|cloud| cloud.faults().add(rule));
    }

    pub(super) fn revoke_tokens(&self) {
        self.cloud.with(|cloud| cloud.edit(|state| state.identity.tokens.clear()));
    }

    pub(super) fn has_living_server(&self, number: usize) -> bool {
        let name = node_name(number);
        let lives = |server: &sim_openstack::compute::Server| {
            !matches!(server.transition, Some((sim_openstack::compute::Transition::Delete, _)))
        };
        self.cloud.with(|cloud| {
            cloud.state().compute.servers.iter().any(|server| server.name == name && lives(server))
        })
    }

    pub(super) fn server_id(&self, number: usize) -> Option<String> {
        let name = node_name(number);
        self.cloud.with(|cloud| {
            cloud
                .state()
                .compute
                .servers
                .iter()
                .find(|server| server.name == name)
                .map(|server| server.id.clone())
        })
    }

    pub(super) fn remove_server(&self, number: usize) {
        let name = node_name(number);
        let ids: Vec<String> = self.cloud.with(|cloud| {
            let servers = cloud.state().compute.servers.iter().filter(|server| server.name == name);
            servers.map(|server| server.id.clone()).collect()
        });
        for id in ids {
            self.operator(Method::DELETE, &format!("/compute/v2.1/servers/{id}"), &Value::Null);
        }
    }

    pub(super) fn add_server(&self, number: usize) {
        let new = self.estate.new_server(&node_name(number));
        self.cloud.with(|cloud| sim_openstack::compute::boot(cloud.world(), new));
    }

    pub(super) fn server_action(&self, number: usize, action: &str) {
        if let Some(id) = self.server_id(number) {
            self.operator(
                Method::POST,
                &format!("/compute/v2.1/servers/{id}/action"),
                &json!({action: null}),
            );
        }
    }

    /// One of two addresses that nobody else is given: the one that the server does not have.
    pub(super) fn readdress(&self, number: usize) {
        let Some(id) = self.server_id(number) else { return };
        let port = self.cloud.with(|cloud| {
            let port = cloud.state().network.ports.iter().find(|port| port.device_id == id);
            port.and_then(|port| Some((port.id.clone(), port.fixed_ips.first()?.ip_address.clone())))
        });
        let Some((port, address)) = port else { return };
        let network = address.rsplit_once('.').expect("an address of version 4").0;
        let mut others = [200 + number, 220 + number].map(|host| format!("{network}.{host}")).into_iter();
        let other = others.find(|other| *other != address).expect("one of the two is another");
        let body = json!({"port": {"fixed_ips": [{"ip_address": other}]}});
        let (code, answer) = self.operator(Method::PUT, &format!("/network/v2.0/ports/{port}"), &body);
        assert_eq!(code, 200, "{answer}");
    }

    /// The security group of somebody's tool comes onto the ports of all servers.
    pub(super) fn guard_ports(&self) {
        let body =
            json!({"security_group": {"name": "somebody-elses-guard", "project_id": self.estate.project}});
        let (code, answer) = self.operator(Method::POST, "/network/v2.0/security-groups", &body);
        assert_eq!(code, 201, "{answer}");
        let group = answer["security_group"]["id"].as_str().expect("an id").to_owned();
        let ports: Vec<(String, Vec<String>)> = self.cloud.with(|cloud| {
            let all =
                cloud.state().network.ports.iter().filter(|port| port.device_owner.starts_with("compute:"));
            all.map(|port| (port.id.clone(), port.security_groups.clone())).collect()
        });
        for (id, mut groups) in ports {
            groups.push(group.clone());
            let body = json!({"port": {"security_groups": groups}});
            let (code, answer) = self.operator(Method::PUT, &format!("/network/v2.0/ports/{id}"), &body);
            assert_eq!(code, 200, "{answer}");
            self.guarded.lock().push((id, group.clone()));
        }
    }

    pub(super) fn quota(&self, exhausted: bool) {
        let project = self.estate.project.clone();
        self.cloud.with(|cloud| {
            let count =
                i64::try_from(cloud.state().load_balancer.load_balancers.count_of(&project)).unwrap_or(0);
            let load_balancer = if exhausted { count } else { -1 };
            let quota = LoadBalancerQuota { load_balancer, ..LoadBalancerQuota::default() };
            cloud.edit(|state| state.load_balancer.quotas.insert(project.clone(), quota));
        });
    }

    /// What is done to a load balancer concerns all Services that are on it, whoever owns it.
    fn note_meddling(&self, number: usize, balancer: &str) {
        let prefix = balancer.strip_suffix(&service_name(number)).unwrap_or(balancer);
        let guests: Vec<String> = self.cloud.with(|cloud| {
            let named = cloud.state().load_balancer.load_balancers.iter().filter(|one| one.name == balancer);
            let tags = named.flat_map(|one| &one.tags);
            tags.filter_map(|tag| tag.strip_prefix(prefix).map(str::to_owned)).collect()
        });
        let mut meddled = self.meddled.lock();
        meddled.extend(
            guests.into_iter().chain([service_name(number)]).map(|service| (service, self.cloud.now())),
        );
    }

    pub(super) fn meddle(&self, number: usize, meddling: Meddling) {
        let name = balancer_name(number);
        self.note_meddling(number, &name);
        let lbaas = "/load-balancer/v2/lbaas";
        let found = self.cloud.with(|cloud| Parts::of(cloud.state(), &name));
        let Some(parts) = found else { return };
        let delete = |path: String| self.operator(Method::DELETE, &path, &Value::Null).0;
        match meddling {
            Meddling::DeleteBalancer => self.delete_balancer(&parts.balancer),
            Meddling::BalancerError => self.cloud.with(|cloud| {
                cloud.edit(|state| {
                    state.load_balancer.load_balancers.update(&parts.balancer, |balancer| {
                        if balancer.provisioning_status == "ACTIVE" {
                            balancer.provisioning_status = "ERROR".to_owned();
                        }
                    })
                });
            }),
            Meddling::BalancerDies => {
                self.cloud.with(|cloud| {
                    cloud.edit(|state| set_failed(&mut state.load_balancer, &parts.balancer, "ERROR"));
                });
                self.loses_traffic(&parts.balancer);
            }
            Meddling::UpdateFails => self.cloud.with(|cloud| {
                cloud.edit(|state| {
                    state.load_balancer.load_balancers.update(&parts.balancer, |balancer| {
                        if balancer.provisioning_status == "ACTIVE" {
                            "ERROR".clone_into(&mut balancer.provisioning_status);
                            "ERROR".clone_into(&mut balancer.operating_status);
                        }
                    })
                });
            }),
            Meddling::DeleteListener => {
                parts.listener.map(|id| delete(format!("{lbaas}/listeners/{id}")));
            }
            Meddling::DeletePool => {
                parts.pool.map(|id| delete(format!("{lbaas}/pools/{id}")));
            }
            Meddling::DeleteMember => {
                parts.member.map(|(pool, id)| delete(format!("{lbaas}/pools/{pool}/members/{id}")));
            }
            Meddling::AddMember => {
                let member = json!({"member": {"address": "10.10.77.7", "protocol_port": 7}});
                parts.pool.map(|pool| {
                    self.operator(Method::POST, &format!("{lbaas}/pools/{pool}/members"), &member)
                });
            }
            Meddling::DeleteMonitor => {
                parts.monitor.map(|id| delete(format!("{lbaas}/healthmonitors/{id}")));
            }
            Meddling::DetachFloatingIp => {
                let nowhere = json!({"floatingip": {"port_id": null}});
                parts.floating_ip.map(|id| {
                    self.operator(Method::PUT, &format!("/network/v2.0/floatingips/{id}"), &nowhere)
                });
            }
            Meddling::DeleteFloatingIp => {
                parts.floating_ip.map(|id| delete(format!("/network/v2.0/floatingips/{id}")));
            }
            Meddling::GuardPorts => self.guard_ports(),
            Meddling::Add(addition) => self.add_by_hand(&parts.balancer, addition),
            Meddling::DeleteRule => {
                let rule = self.cloud.with(|cloud| managed_rule(cloud.state()));
                rule.map(|id| delete(format!("/network/v2.0/security-group-rules/{id}")));
            }
        }
    }

    /// What a person does when a load balancer never ends what it began: the operator of the cloud sets it to ERROR.
    pub fn mend_stuck(&self) -> Vec<String> {
        self.note_traffic();
        let now = self.cloud.now();
        let mut since = self.pending.lock();
        self.cloud.with(|cloud| {
            let all = cloud.state().load_balancer.load_balancers.iter();
            let pending = all.filter(|balancer| balancer.provisioning_status.starts_with("PENDING"));
            let pending: BTreeSet<String> = pending.map(|balancer| balancer.id.clone()).collect();
            since.retain(|id, _since| pending.contains(id));
            let is_stuck = |id: &String| now.duration_since(*since.entry(id.clone()).or_insert(now)) > STUCK;
            let stuck: Vec<String> = pending.into_iter().filter(is_stuck).collect();
            // What it begins afterwards has its own time.
            since.retain(|id, _since| !stuck.contains(id));
            cloud.edit(|state| {
                for id in &stuck {
                    state.load_balancer.load_balancers.update(id, |balancer| {
                        balancer.provisioning_status = "ERROR".to_owned();
                    });
                }
            });
            stuck
        })
    }

    /// The control plane of Octavia fails, or all load balancers do. What is under way has an end of its own.
    pub(super) fn all_fail(&self, offline: bool) {
        let failed = self.cloud.with(|cloud| {
            let balancers = cloud.state().load_balancer.load_balancers.iter();
            let all = balancers.filter(|one| one.provisioning_status == "ACTIVE");
            let ids: Vec<String> = all.map(|one| one.id.clone()).collect();
            cloud.edit(|state| {
                let octavia = &mut state.load_balancer;
                for id in &ids {
                    match offline {
                        true => set_failed(octavia, id, "OFFLINE"),
                        false => {
                            let fails =
                                |one: &mut LoadBalancer| "ERROR".clone_into(&mut one.provisioning_status);
                            octavia.load_balancers.update(id, fails);
                        }
                    }
                }
            });
            ids
        });
        if offline {
            failed.iter().for_each(|id| self.loses_traffic(id));
        }
    }

    /// What a person does with a load balancer in ERROR that nobody may replace, because several Services share it, it may serve, or too
    /// many are in ERROR at once: the operator of the cloud fails it over, as the Services say.
    pub fn fail_over(&self) -> Vec<String> {
        self.note_traffic();
        let are_too_many = self.are_too_many_in_error(jiff::SignedDuration::ZERO);
        let added_to = self.balancers_added_to();
        let is_kept = |octavia: &LoadBalancerState, balancer: &LoadBalancer| {
            let users = balancer.tags.iter().filter(|tag| tag.starts_with("kube_service_")).count();
            // Nor may anybody replace one that no Service of this cluster made.
            let is_ours = balancer.name.starts_with("kube_service_kubernetes_");
            let is_planted = self.is_planted(&balancer.id);
            let is_shared = users > 1 || !is_ours || is_planted || added_to.contains(&balancer.id);
            let is_held = is_shared || are_too_many || may_serve(octavia, balancer);
            balancer.provisioning_status == "ERROR" && is_held
        };
        let now = self.cloud.now().strftime("%Y-%m-%dT%H:%M:%S").to_string();
        self.cloud.with(|cloud| {
            let octavia = &cloud.state().load_balancer;
            let kept = octavia.load_balancers.iter().filter(|balancer| is_kept(octavia, balancer));
            let ids: Vec<String> = kept.map(|balancer| balancer.id.clone()).collect();
            cloud.edit(|state| {
                let active = |status: &mut String| "ACTIVE".clone_into(status);
                let octavia = &mut state.load_balancer;
                for id in &ids {
                    let serves_nobody =
                        octavia.load_balancers.get(id).is_some_and(|one| !may_serve(octavia, one));
                    if serves_nobody {
                        set_failed(octavia, id, "ONLINE");
                    }
                    octavia.load_balancers.update(id, |one| {
                        active(&mut one.provisioning_status);
                        // Octavia writes the load balancer twice during a failover.
                        one.updated_at = Some(now.clone());
                    });
                    let listeners = octavia.listeners.find_ids("loadbalancer_id", id);
                    for listener in listeners {
                        octavia.listeners.update(&listener, |one| active(&mut one.provisioning_status));
                    }
                    let pools: Vec<String> = octavia
                        .pools
                        .iter()
                        .filter(|pool| pool.loadbalancer_id == *id)
                        .map(|pool| pool.id.clone())
                        .collect();
                    for pool in pools {
                        octavia.pools.update(&pool, |one| active(&mut one.provisioning_status));
                        for monitor in octavia.monitors.find_ids("pool_id", &pool) {
                            octavia.monitors.update(&monitor, |one| active(&mut one.provisioning_status));
                        }
                        for member in octavia.members.find_ids("pool_id", &pool) {
                            octavia.members.update(&member, |one| active(&mut one.provisioning_status));
                        }
                    }
                }
            });
            ids
        })
    }
}

/// Whether a load balancer, or a pool of it, shows that traffic may pass: what the operator of the cloud goes by. The truth is in `traffic`.
fn may_serve(octavia: &LoadBalancerState, balancer: &LoadBalancer) -> bool {
    let serves = |status: &str| !matches!(status, "OFFLINE" | "ERROR");
    let mut pools = octavia.pools.iter().filter(|pool| pool.loadbalancer_id == balancer.id);
    serves(&balancer.operating_status) || pools.any(|pool| serves(&pool.operating_status))
}

/// What of a Service's load balancer can be meddled with: the first of each.
pub(super) struct Parts {
    pub(super) balancer: String,
    listener: Option<String>,
    pool: Option<String>,
    member: Option<(String, String)>,
    monitor: Option<String>,
    floating_ip: Option<String>,
}

impl Parts {
    pub(super) fn of(state: &State, name: &str) -> Option<Self> {
        let octavia = &state.load_balancer;
        let balancer = octavia.load_balancers.iter().find(|balancer| balancer.name == name)?;
        let mut listeners = octavia.listeners.iter().filter(|listener| !is_added_by_hand(&listener.name));
        let listener = listeners.find(|listener| listener.loadbalancer_id == balancer.id);
        let mut pools = octavia.pools.iter().filter(|pool| !is_added_by_hand(&pool.name));
        let pool = pools.find(|pool| pool.loadbalancer_id == balancer.id);
        let in_pool = |id: &str| pool.is_some_and(|pool| pool.id == id);
        let member = octavia.members.iter().find(|member| in_pool(&member.pool_id));
        let monitor = octavia.monitors.iter().find(|monitor| in_pool(&monitor.pool_id));
        let floating = state
            .network
            .floating_ips
            .iter()
            .find(|floating| floating.port_id.as_deref() == Some(balancer.vip_port_id.as_str()));
        Some(Self {
            balancer: balancer.id.clone(),
            listener: listener.map(|listener| listener.id.clone()),
            pool: pool.map(|pool| pool.id.clone()),
            member: member.map(|member| (member.pool_id.clone(), member.id.clone())),
            monitor: monitor.map(|monitor| monitor.id.clone()),
            floating_ip: floating.map(|floating| floating.id.clone()),
        })
    }
}

fn managed_rule(state: &State) -> Option<String> {
    let ours: BTreeSet<&str> = state
        .network
        .security_groups
        .iter()
        .filter(|group| group.name.starts_with("lb-sg-"))
        .map(|group| group.id.as_str())
        .collect();
    let rule = state
        .network
        .rules
        .iter()
        .find(|rule| ours.contains(rule.security_group_id.as_str()) && rule.direction == "ingress");
    rule.map(|rule| rule.id.clone())
}
