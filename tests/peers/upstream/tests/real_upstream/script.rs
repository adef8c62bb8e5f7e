//! The script: what happens to the cluster and its cloud, stage by stage, and what each stage waits for. It says nothing
//! about what is right: that is upstream's part.

use serde_json::json;

use crate::edit::Kind::{Node, Service};
use crate::edit::{Edit, merge};
use crate::objects::{
    EXCLUDE, SHUTDOWN, UNINITIALIZED, address, exclude, joins, service, with_ip, with_pods,
};
use crate::record::Call;
use crate::seen::Seen;

/// Some edits, and what is waited for before anybody looks.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) edits: Vec<Edit>,
    /// Of what is seen, and of the calls since the stage began.
    pub(crate) until: fn(&Seen, &[Call]) -> bool,
}

/// Everything.
pub(crate) fn stages() -> Vec<Stage> {
    vec![
        nodes_join(),
        services_appear(),
        edits_and_shutdown(),
        back_again(),
        other_hosts(),
        the_cloud_fails(),
        the_cloud_works_again(),
        machines_vanish(),
        no_hosts(),
        some_hosts(),
        restart(),
        everything_goes(),
    ]
}

fn nodes_join() -> Stage {
    let mut plain = with_pods(&["10.244.1.0/24"]);
    merge(&mut plain, &json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "kubelets-own"}}}));
    let mut given = with_pods(&["10.244.3.0/24"]);
    merge(&mut given, &json!({"spec": {"providerID": "scripted://given"}}));
    let mut calico = with_pods(&["10.244.4.0/24"]);
    let up = json!({"type": "NetworkUnavailable", "status": "False", "reason": "CalicoIsUp"});
    merge(&mut calico, &json!({"status": {"conditions": [{"type": "Ready", "status": "True"}, up]}}));
    let taint = |key: &str, value: &str, effect: &str| json!({"key": key, "value": value, "effect": effect});
    let edits = vec![
        joins("plain", &plain),
        joins("given", &given),
        joins("dual", &with_pods(&["10.244.2.0/24", "fd00:10:244:2::/64"])),
        joins("picked", &with_ip("10.1.0.4")),
        joins("pair", &with_ip("10.0.0.5,fd00::5")),
        joins("misfit", &with_ip("10.9.9.9")),
        joins("garbled", &with_ip("banana")),
        // Ours keeps it when it is not Ready, so it is no host of load balancers.
        joins("unknown", &json!({"metadata": {"labels": {EXCLUDE: "true"}}})),
        joins("calico", &calico),
        joins(
            "tainted",
            &json!({"spec": {"taints": [
                taint("gpu", "yes", "NoExecute"), taint(UNINITIALIZED, "true", "NoSchedule"),
                taint("gpu", "maybe", "PreferNoSchedule"), taint(UNINITIALIZED, "", "NoExecute"),
            ]}}),
        ),
        joins("labelled", &json!({"metadata": {"labels": {"team": "nodes-own"}}})),
        joins("bare", &json!({"spec": {"taints": null}})),
        joins("noid", &json!({})),
        joins("noaddr", &json!({})),
        joins("nohost", &json!({})),
        joins("sparse", &json!({})),
        joins(
            "foreign",
            &json!({"metadata": {"labels": {EXCLUDE: "true"}}, "spec": {"providerID": "other://1"}}),
        ),
        Edit::Start,
    ];
    Stage {
        name: "nodes join",
        edits,
        until: |seen, calls| {
            let all = [
                "plain", "given", "dual", "picked", "pair", "tainted", "labelled", "nohost", "sparse",
                "calico",
            ];
            all.iter().all(|node| !has(seen, &format!("node {node}: taints"), UNINITIALIZED))
                && has(seen, "node bare: addresses", "10.0.0.9")
                && was_called(calls, "create-route", "plain 10.244.1.0/24")
                && was_called(calls, "create-route", "calico 10.244.4.0/24")
                && was_called(calls, "delete-route", "long-gone 10.244.200.0/24")
                && ["plain", "given", "dual"]
                    .iter()
                    .all(|node| has(seen, &format!("node {node}: conditions"), r#""reason":"RouteCreated""#))
        },
    }
}

fn services_appear() -> Stage {
    let dns = json!({"spec": {"ports": [
        {"name": "udp", "port": 53, "protocol": "UDP"}, {"name": "tcp", "port": 53, "protocol": "TCP"},
    ]}});
    let edits = vec![
        service("web", &json!({})),
        service("dns", &dns),
        service("local", &json!({"spec": {"externalTrafficPolicy": "Local"}})),
        service("classed", &json!({"spec": {"loadBalancerClass": "example.com/other"}})),
        service("proxied", &json!({})),
        service("named", &json!({})),
        service("twofold", &json!({"metadata": {"annotations": {"example.com/size": "large"}}})),
        service("guarded", &json!({"metadata": {"finalizers": ["example.com/guard"]}})),
        service(
            "void",
            &json!({"spec": {"loadBalancerIP": "192.0.2.99", "allocateLoadBalancerNodePorts": false}}),
        ),
        service("slow", &json!({})),
        service("late", &json!({"spec": {"type": "ClusterIP"}})),
        // What the cloud says now.
        Edit::Cloud(json!({"instances": {
            "plain": {"type": "m1.large", "addresses": [
                address("Hostname", "plain"), address("InternalIP", "10.0.0.101"), address("ExternalIP", "192.0.2.1"),
            ]},
            "dual": {"addresses": [address("InternalIP", "10.0.0.3"), address("InternalIP", "fd00::33"), address("Hostname", "dual")]},
            "given": {"addresses": []},
            "labelled": {"labels": {"rack": "r8", "shelf": "s1"}},
        }})),
        // What somebody did to labels.
        Edit::Patch(
            Node,
            "dual",
            json!({"metadata": {"labels": {"failure-domain.beta.kubernetes.io/zone": "z9"}}}),
        ),
        Edit::Patch(
            Node,
            "labelled",
            json!({"metadata": {"labels": {
                "topology.kubernetes.io/region": null, "node.kubernetes.io/instance-type": "wrong",
            }}}),
        ),
        Edit::Patch(
            Node,
            "sparse",
            json!({"metadata": {"labels": {
                "failure-domain.beta.kubernetes.io/region": null, "topology.kubernetes.io/region": "edited",
            }}}),
        ),
    ];
    Stage {
        name: "services appear, machines and labels change",
        edits,
        until: |seen, _| {
            let addresses = [
                ("web", "203.0.113.1"),
                ("dns", "203.0.113.2"),
                ("local", "203.0.113.3"),
                ("proxied", "203.0.113.4"),
                ("named", "lb.example"),
                ("twofold", "2001:db8::6"),
                ("guarded", "203.0.113.7"),
                ("slow", "203.0.113.10"),
            ];
            addresses.iter().all(|(name, at)| has(seen, &format!("service {name}: load balancer"), at))
                && has(seen, "service void: finalizers", "load-balancer-cleanup")
                && has(seen, "node plain: addresses", "10.0.0.101")
                && has(seen, "node dual: addresses", "fd00::33")
                && has(seen, "node dual: labels", r#""topology.kubernetes.io/zone":"z9""#)
                && has(seen, "node labelled: labels", r#""topology.kubernetes.io/region":"r1""#)
        },
    }
}

fn edits_and_shutdown() -> Stage {
    let edits = vec![
        Edit::Cloud(json!({
            "instances": {"plain": {"shutdown": true}, "tainted": {"shutdown": true}, "picked": {"shutdown": true}},
            "ingress": {"default/web": [{"ip": "203.0.113.101"}], "default/named": [{"hostname": "other.example"}]},
            "errors": {"create-route/picked": "no room for routes"},
        })),
        Edit::Patch(
            Service,
            "web",
            json!({"spec": {"ports": [
                {"name": "http", "port": 80, "targetPort": 8080}, {"name": "https", "port": 443, "targetPort": 8443},
            ]}}),
        ),
        Edit::Patch(Service, "dns", json!({"metadata": {"annotations": {"example.com/size": "small"}}})),
        Edit::Patch(Service, "local", json!({"spec": {"type": "ClusterIP", "externalTrafficPolicy": null}})),
        Edit::Patch(Service, "proxied", json!({"spec": {"loadBalancerSourceRanges": ["192.0.2.0/24"]}})),
        Edit::Patch(Service, "named", json!({"metadata": {"labels": {"just": "a-label"}}})),
        Edit::Patch(Service, "twofold", json!({"spec": {"externalTrafficPolicy": "Local"}})),
        Edit::Patch(Service, "guarded", json!({"spec": {"sessionAffinity": "ClientIP"}})),
        Edit::Patch(Service, "classed", json!({"spec": {"ports": [{"port": 81}]}})),
        Edit::Patch(Service, "void", json!({"spec": {"externalIPs": ["192.0.2.200"]}})),
        Edit::Patch(Service, "late", json!({"spec": {"type": "LoadBalancer"}})),
        Edit::Patch(Node, "picked", with_pods(&["10.244.7.0/24"])),
        Edit::Ready("plain", "False"),
        Edit::Ready("tainted", "False"),
        Edit::Ready("picked", "Unknown"),
        Edit::Ready("nohost", "False"),
    ];
    Stage {
        name: "services are edited, machines shut down",
        edits,
        until: |seen, calls| {
            ["plain", "tainted", "picked"]
                .iter()
                .all(|node| has(seen, &format!("node {node}: taints"), SHUTDOWN))
                && !has(seen, "service local: finalizers", "cleanup")
                && has(seen, "service web: load balancer", "203.0.113.101")
                && has(seen, "service late: load balancer", "203.0.113.9")
                && has(seen, "node picked: conditions", "NoRouteCreated")
                && ["dns", "proxied", "twofold", "guarded", "void"]
                    .iter()
                    .all(|name| was_called(calls, "ensure", &format!("default/{name}")))
        },
    }
}

fn back_again() -> Stage {
    let edits = vec![
        Edit::Cloud(json!({
            "instances": {"plain": {"shutdown": false}, "tainted": {"shutdown": false}},
            "errors": {"create-route/picked": null},
        })),
        Edit::Patch(Service, "local", json!({"spec": {"type": "LoadBalancer"}})),
        Edit::Patch(Service, "late", json!({"spec": {"type": "NodePort"}})),
        Edit::Patch(
            Service,
            "web",
            json!({"spec": {"ports": [{"name": "https", "port": 443, "targetPort": 8443}]}}),
        ),
        // Runs again and is Ready; is Ready although the cloud says it is off. The third runs and is not Ready yet.
        Edit::Ready("plain", "True"),
        Edit::Ready("picked", "True"),
    ];
    Stage {
        name: "types are switched back, machines start",
        edits,
        until: |seen, calls| {
            ["plain", "picked"].iter().all(|node| !has(seen, &format!("node {node}: taints"), SHUTDOWN))
                && has(seen, "service local: load balancer", "203.0.113.3")
                && !has(seen, "service late: finalizers", "cleanup")
                && was_called(calls, "ensure", "default/web")
                && has(seen, "node picked: conditions", r#""reason":"RouteCreated""#)
        },
    }
}

fn other_hosts() -> Stage {
    let edits = vec![
        exclude("nohost", Some("")),
        exclude("labelled", Some("false")),
        exclude("sparse", Some("banana")),
        Edit::Patch(Node, "sparse", json!({"spec": {"unschedulable": true}})),
        joins("late", &json!({})),
        Edit::Delete(Node, "bare"),
    ];
    Stage {
        name: "other hosts",
        edits,
        until: |seen, calls| {
            let hosts = |call: &Call, name: &str| call.hosts.iter().any(|host| host == name);
            !has(seen, "node late: taints", UNINITIALIZED)
                && ["web", "dns", "local"].iter().all(|name| {
                    calls.iter().rev().find(|call| call.target == format!("default/{name}")).is_some_and(
                        |call| {
                            hosts(call, "late")
                                && hosts(call, "labelled")
                                && !hosts(call, "nohost")
                                && !hosts(call, "bare")
                                && !hosts(call, "sparse")
                        },
                    )
                })
        },
    }
}

fn the_cloud_fails() -> Stage {
    let edits = vec![
        Edit::Cloud(json!({"errors": {
            "instances": "compute is down", "ensure": "balancers are down",
            "update": "balancers are down", "delete/default/local": "balancers are down",
            "get/default/slow": "balancers are down", "list-routes": "network is down",
        }})),
        Edit::Patch(Service, "web", json!({"metadata": {"annotations": {"example.com/size": "huge"}}})),
        Edit::Delete(Service, "local"),
        Edit::Delete(Service, "slow"),
        Edit::Patch(Node, "pair", with_pods(&["10.244.5.0/24"])),
        Edit::Ready("tainted", "True"),
        Edit::Ready("labelled", "False"),
        joins("later", &json!({})),
    ];
    Stage {
        name: "the cloud fails",
        edits,
        until: |_, calls| {
            let failed = |op: &str, target: &str| {
                calls.iter().any(|call| call.failed && call.op == op && call.target == target)
            };
            failed("ensure", "default/web")
                && failed("delete", "default/local")
                && failed("update", "default/dns")
        },
    }
}

fn the_cloud_works_again() -> Stage {
    Stage {
        name: "the cloud works again",
        edits: vec![Edit::Cloud(json!({"errors": null}))],
        until: |seen, calls| {
            !has(seen, "node later: taints", UNINITIALIZED)
                && !seen.contains_key("service local: exists")
                && !seen.contains_key("service slow: exists")
                && succeeded(calls, "create-route", "pair 10.244.5.0/24")
                && has(seen, "node pair: conditions", r#""reason":"RouteCreated""#)
                && succeeded(calls, "ensure", "default/web")
                && ["dns", "proxied", "twofold"].iter().all(|name| {
                    let target = format!("default/{name}");
                    succeeded(calls, "ensure", &target) || succeeded(calls, "update", &target)
                })
        },
    }
}

fn machines_vanish() -> Stage {
    let edits = vec![
        Edit::Cloud(json!({"instances": {"nohost": null, "picked": null, "sparse": {"shutdown": true}}})),
        Edit::Ready("unknown", "False"),
        Edit::Ready("misfit", "False"),
        Edit::Ready("foreign", "False"),
        Edit::Patch(
            Node,
            "plain",
            json!({"spec": {"taints": [
                {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"},
            ]}}),
        ),
    ];
    Stage {
        name: "machines vanish",
        edits,
        until: |seen, calls| {
            !seen.contains_key("node nohost: exists") && was_called(calls, "update", "default/dns")
        },
    }
}

const HOSTS: [&str; 14] = [
    "calico", "dual", "garbled", "given", "plain", "labelled", "late", "later", "misfit", "noaddr", "noid",
    "pair", "picked", "tainted",
];

fn no_hosts() -> Stage {
    let edits = HOSTS.into_iter().map(|node| exclude(node, Some("true"))).collect();
    Stage {
        name: "no hosts are left",
        edits,
        until: |_, calls| {
            ["web", "dns"].iter().all(|name| {
                let target = format!("default/{name}");
                calls.iter().any(|call| call.target == target && !call.failed && call.hosts.is_empty())
            })
        },
    }
}

fn some_hosts() -> Stage {
    Stage {
        name: "some hosts are back",
        edits: ["dual", "pair", "later"].map(|node| exclude(node, None)).to_vec(),
        until: |_, calls| {
            ["web", "dns"].iter().all(|name| {
                let target = format!("default/{name}");
                calls.iter().any(|call| call.target == target && call.hosts.len() == 3)
            })
        },
    }
}

fn restart() -> Stage {
    let edits = vec![
        Edit::Kill,
        Edit::Delete(Service, "void"),
        Edit::Patch(
            Service,
            "dns",
            json!({"spec": {"ports": [{"name": "udp", "port": 5353, "protocol": "UDP"}]}}),
        ),
        Edit::Patch(Service, "late", json!({"spec": {"type": "LoadBalancer"}})),
        Edit::Delete(Node, "pair"),
        Edit::Cloud(json!({"instances": {"dual": {"addresses": [address("InternalIP", "10.0.0.133")]}}})),
        Edit::Start,
    ];
    Stage {
        name: "much happens while no manager runs",
        edits,
        until: |seen, calls| {
            ["web", "dns", "proxied", "named", "twofold", "guarded", "late"]
                .iter()
                .all(|name| was_called(calls, "ensure", &format!("default/{name}")))
                && !seen.contains_key("service void: exists")
                && has(seen, "service late: load balancer", "203.0.113.9")
                && has(seen, "node dual: addresses", "10.0.0.133")
                && was_called(calls, "delete-route", "pair 10.244.5.0/24")
        },
    }
}

fn everything_goes() -> Stage {
    let services = ["web", "dns", "proxied", "named", "twofold", "guarded", "classed", "late"];
    let mut edits: Vec<_> = services.map(|name| Edit::Delete(Service, name)).to_vec();
    edits.push(Edit::Delete(Node, "plain"));
    Stage {
        name: "everything goes",
        edits,
        until: |seen, calls| {
            let left = |name: &str| seen.contains_key(&format!("service {name}: exists"));
            ["web", "dns", "proxied", "named", "twofold", "classed", "late"].iter().all(|name| !left(name))
                && !has(seen, "service guarded: finalizers", "cleanup")
                && was_called(calls, "delete-route", "plain 10.244.1.0/24")
        },
    }
}

fn has(seen: &Seen, subject: &str, text: &str) -> bool {
    seen.get(subject).is_some_and(|found| found.contains(text))
}

fn was_called(calls: &[Call], op: &str, target: &str) -> bool {
    calls.iter().any(|call| call.op == op && call.target == target)
}

fn succeeded(calls: &[Call], op: &str, target: &str) -> bool {
    calls.iter().any(|call| call.op == op && call.target == target && !call.failed)
}
