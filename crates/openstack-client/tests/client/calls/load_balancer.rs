//! Octavia.

use openstack_client::{
    Change, HealthMonitorId, ListenerId, LoadBalancerId, MemberId, PoolId, ProjectId, SubnetId,
    load_balancer::{
        Algorithm, BatchMember, HealthMonitorCreate, HealthMonitorQuery, HealthMonitorUpdate, ListenerCreate,
        ListenerQuery, ListenerUpdate, LoadBalancerCreate, LoadBalancerQuery, LoadBalancerUpdate,
        MemberUpdate, MonitorType, OperatingStatus, PoolCreate, PoolQuery, PoolUpdate, Protocol,
        ProvisioningStatus, SessionPersistence,
    },
};
use serde_json::{Value, json};

use super::{address, last};
use crate::cloud::{Cloud, PROJECT, Reply};

fn balancer() -> Value {
    json!({"id": "lb1", "name": "kube_service_x", "description": "", "provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE",
        "admin_state_up": true, "project_id": PROJECT, "created_at": "2026-11-15T08:00:14", "updated_at": null, "vip_address": "10.10.0.61",
        "vip_port_id": "vp", "vip_subnet_id": "sn", "vip_network_id": "n", "vip_sg_ids": [], "additional_vips": [],
        "listeners": [{"id": "l1", "name": "a whole listener, when fully populated"}], "pools": [{"id": "po1"}], "provider": "ovn",
        "flavor_id": null, "vip_qos_policy_id": null, "tags": ["t"], "availability_zone": null, "vip_vnic_type": "normal", "tenant_id": PROJECT})
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_made_whole_in_one_call() {
    let cloud = Cloud::new(|_| Reply::json(201, &json!({"loadbalancer": balancer()})));
    let mut member = BatchMember::new(address("10.10.0.95"), 30080);
    member.monitor_port = Some(10256);
    let pool = PoolCreate {
        name: "p".into(),
        protocol: Protocol::Tcp,
        lb_algorithm: Algorithm::SourceIpPort,
        session_persistence: Some(SessionPersistence::source_ip()),
        members: vec![member],
        healthmonitor: Some(monitor()),
        ..PoolCreate::default()
    };
    let listener = ListenerCreate {
        name: "l".into(),
        protocol: Protocol::Tcp,
        protocol_port: 80,
        default_pool: Some(pool),
        ..Default::default()
    };
    let create = LoadBalancerCreate {
        name: "kube_service_x".into(),
        provider: Some("ovn".into()),
        vip_subnet_id: Some(SubnetId::new("sn").unwrap()),
        tags: vec!["t".into()],
        listeners: vec![listener],
        ..Default::default()
    };
    let made = cloud.client().load_balancer().create_load_balancer(&create).await.unwrap();
    assert_eq!(made.provisioning_status, ProvisioningStatus::PendingCreate);
    assert!(made.provisioning_status.is_pending());
    assert_eq!(
        (made.listeners, made.pools),
        (vec![ListenerId::new("l1").unwrap()], vec![PoolId::new("po1").unwrap()])
    );
    assert_eq!(last(&cloud).line(), "POST octavia.test/v2.0/lbaas/loadbalancers");
    assert_eq!(
        last(&cloud).body,
        json!({"loadbalancer": {"name": "kube_service_x", "provider": "ovn", "vip_subnet_id": "sn", "tags": ["t"], "listeners": [{
            "name": "l", "protocol": "TCP", "protocol_port": 80, "default_pool": {
                "name": "p", "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT", "session_persistence": {"type": "SOURCE_IP"},
                "members": [{"address": "10.10.0.95", "protocol_port": 30080, "monitor_port": 10256}],
                "healthmonitor": {"name": "h", "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 3}}}]}})
    );
}

fn monitor() -> HealthMonitorCreate {
    HealthMonitorCreate {
        pool_id: None,
        name: "h".into(),
        kind: MonitorType::Tcp,
        delay: 5,
        timeout: 3,
        max_retries: 1,
        max_retries_down: Some(3),
        url_path: None,
        http_method: None,
        expected_codes: None,
        tags: vec![],
    }
}

#[tokio::test(start_paused = true)]
async fn load_balancers_are_found_changed_and_deleted() {
    let cloud = Cloud::new(|asked| match asked.method.as_str() {
        "DELETE" => Reply::text(204, ""),
        "GET" if asked.path.ends_with("loadbalancers") => {
            Reply::ok(&json!({"loadbalancers": [balancer(), balancer()], "loadbalancers_links": []}))
        }
        _ => Reply::ok(&json!({"loadbalancer": balancer()})),
    });
    let octavia = cloud.client().load_balancer();
    let id = LoadBalancerId::new("lb1").unwrap();
    let found = octavia.load_balancers(&LoadBalancerQuery::by_name("kube_service_x")).all().await.unwrap();
    assert_eq!((found.len(), found[0].vip_address), (2, Some(address("10.10.0.61"))));
    assert_eq!(octavia.load_balancer(&id).await.unwrap().flavor_id, None);
    let update = LoadBalancerUpdate { tags: Some(vec![]), ..Default::default() };
    octavia.update_load_balancer(&id, &update).await.unwrap();
    assert_eq!(last(&cloud).body, json!({"loadbalancer": {"tags": []}}));
    octavia.delete_load_balancer(&id, true).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/loadbalancers/lb1?cascade=true");
    octavia.delete_load_balancer(&id, false).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/loadbalancers/lb1");
}

#[tokio::test(start_paused = true)]
async fn listeners_and_pools_are_found_made_changed_and_deleted() {
    let listener = json!({"id": "l1", "name": "l80", "description": null, "provisioning_status": "ACTIVE", "operating_status": "ONLINE",
        "protocol": "TCP", "protocol_port": 80, "connection_limit": -1, "default_tls_container_ref": null, "sni_container_refs": [],
        "default_pool_id": null, "l7policies": [], "insert_headers": {}, "loadbalancers": [{"id": "lb1"}], "timeout_client_data": 50000,
        "allowed_cidrs": null, "tags": []});
    let pool = json!({"id": "po1", "name": "p80", "protocol": "PROXYV3", "lb_algorithm": "ROUND_ROBIN", "session_persistence": null,
        "loadbalancers": [{"id": "lb1"}], "listeners": [{"id": "l1"}], "members": [{"id": "m1"}], "healthmonitor_id": "", "tags": null});
    let cloud = Cloud::new(move |asked| {
        let body = json!({"listener": listener, "pool": pool, "listeners": [listener], "pools": [pool]});
        match asked.method.as_str() {
            "DELETE" => Reply::text(204, ""),
            "POST" => Reply::json(201, &body),
            _ => Reply::ok(&body),
        }
    });
    let octavia = cloud.client().load_balancer();
    let (lb, l, p) =
        (LoadBalancerId::new("lb1").unwrap(), ListenerId::new("l1").unwrap(), PoolId::new("po1").unwrap());
    let project_id = Some(ProjectId::new("p1").unwrap());
    octavia
        .listeners(&ListenerQuery { project_id: project_id.clone(), ..ListenerQuery::default() })
        .all()
        .await
        .unwrap();
    assert_eq!(last(&cloud).line(), "GET octavia.test/v2.0/lbaas/listeners?project_id=p1&limit=500");
    octavia.pools(&PoolQuery { project_id, ..PoolQuery::default() }).all().await.unwrap();
    assert_eq!(last(&cloud).line(), "GET octavia.test/v2.0/lbaas/pools?project_id=p1&limit=500");
    let found = octavia.listeners(&ListenerQuery::of(lb.clone())).all().await.unwrap();
    assert_eq!(
        (found[0].connection_limit, last(&cloud).line().as_str()),
        (Some(-1), "GET octavia.test/v2.0/lbaas/listeners?loadbalancer_id=lb1&limit=500")
    );
    let update = ListenerUpdate {
        default_pool_id: Change::Set(p.clone()),
        allowed_cidrs: Change::Clear,
        timeout_client_data: Some(1000),
        ..Default::default()
    };
    octavia.update_listener(&l, &update).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"listener": {"default_pool_id": "po1", "allowed_cidrs": null, "timeout_client_data": 1000}})
    );
    let create = ListenerCreate {
        loadbalancer_id: Some(lb.clone()),
        name: "l".into(),
        protocol: Protocol::Udp,
        protocol_port: 53,
        ..Default::default()
    };
    octavia.create_listener(&create).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"listener": {"loadbalancer_id": "lb1", "name": "l", "protocol": "UDP", "protocol_port": 53}})
    );
    octavia.listener(&l).await.unwrap();
    octavia.delete_listener(&l).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/listeners/l1");

    let found = octavia.pools(&PoolQuery::of(lb)).all().await.unwrap();
    assert_eq!((found[0].protocol.as_str(), found[0].healthmonitor_id.clone()), ("PROXYV3", None));
    octavia
        .update_pool(&p, &PoolUpdate { session_persistence: Change::Clear, ..Default::default() })
        .await
        .unwrap();
    assert_eq!(last(&cloud).body, json!({"pool": {"session_persistence": null}}));
    let create = PoolCreate {
        listener_id: Some(l),
        name: "p".into(),
        protocol: Protocol::Tcp,
        lb_algorithm: Algorithm::RoundRobin,
        ..Default::default()
    };
    octavia.create_pool(&create).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"pool": {"listener_id": "l1", "name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}})
    );
    octavia.pool(&p).await.unwrap();
    octavia.delete_pool(&p).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn members_are_replaced_and_added_in_batches() {
    let member = json!({"id": "m1", "name": "n0", "operating_status": "NO_MONITOR", "provisioning_status": "ACTIVE", "admin_state_up": true,
        "address": "10.10.0.95", "protocol_port": 30080, "weight": 1, "backup": false, "subnet_id": null, "monitor_address": null, "monitor_port": null});
    let cloud = Cloud::new(move |asked| match (asked.method.as_str(), asked.path.ends_with("/members")) {
        ("PUT", true) => Reply::text(202, ""),
        ("GET", true) => Reply::ok(&json!({"members": [member]})),
        ("DELETE", _) => Reply::text(204, ""),
        _ => Reply::json(if asked.method == "POST" { 201 } else { 200 }, &json!({"member": member})),
    });
    let octavia = cloud.client().load_balancer();
    let (pool, id) = (PoolId::new("po1").unwrap(), MemberId::new("m1").unwrap());
    let mut wanted = BatchMember::new(address("fd00::5"), 30080);
    wanted.name = "n0".into();
    wanted.subnet_id = Some(SubnetId::new("sn").unwrap());
    let body = json!({"members": [{"address": "fd00::5", "protocol_port": 30080, "name": "n0", "subnet_id": "sn", "monitor_port": null}]});
    let one = vec![wanted.clone()];
    octavia.batch_members(&pool, move || one.clone(), false).await.unwrap();
    assert_eq!(
        (last(&cloud).line(), last(&cloud).body),
        ("PUT octavia.test/v2.0/lbaas/pools/po1/members".into(), body)
    );
    octavia.batch_members(&pool, Vec::new, true).await.unwrap();
    assert_eq!(
        (last(&cloud).query.as_str(), last(&cloud).body),
        ("additive_only=True", json!({"members": []}))
    );
    assert_eq!(octavia.members(&pool).all().await.unwrap()[0].address, address("10.10.0.95"));
    octavia.create_member(&pool, &wanted).await.unwrap();
    octavia.update_member(&pool, &id, &MemberUpdate { weight: Some(0), ..Default::default() }).await.unwrap();
    assert_eq!(last(&cloud).body, json!({"member": {"weight": 0}}));
    assert_eq!(octavia.member(&pool, &id).await.unwrap().operating_status, OperatingStatus::NoMonitor);
    octavia.delete_member(&pool, &id).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/pools/po1/members/m1");
}

#[tokio::test(start_paused = true)]
async fn health_monitors_status_trees_and_offers_are_read() {
    let hm = json!({"id": "h1", "name": "hm", "type": "UDP-CONNECT", "delay": 5, "timeout": 3, "max_retries": 3, "max_retries_down": 3,
        "http_method": null, "url_path": null, "expected_codes": null, "pools": [{"id": "po1"}], "provisioning_status": "ACTIVE"});
    let leaf = |id: &str| json!({"id": id, "name": "", "operating_status": "ONLINE", "provisioning_status": "ACTIVE"});
    let mut member = leaf("m1");
    member["address"] = json!("10.10.0.192");
    member["protocol_port"] = json!(30080);
    let (mut pool, mut listener, mut tree) = (leaf("po1"), leaf("l1"), leaf("lb1"));
    pool["members"] = json!([member]);
    pool["health_monitor"] = json!({});
    listener["pools"] = json!([pool]);
    tree["listeners"] = json!([listener]);
    let cloud = Cloud::new(move |asked| match (asked.method.as_str(), asked.path.as_str()) {
        ("DELETE", _) => Reply::text(204, ""),
        ("POST", _) => Reply::json(201, &json!({"healthmonitor": hm})),
        (_, "/v2.0/lbaas/loadbalancers/lb1/status") => {
            Reply::ok(&json!({"statuses": {"loadbalancer": tree}}))
        }
        (_, "/v2.0/lbaas/providers") => {
            Reply::ok(&json!({"providers": [{"name": "ovn", "description": "x"}]}))
        }
        (_, "/v2.0/lbaas/flavors") => Reply::ok(
            &json!({"flavors": [{"id": "fl", "name": "small", "enabled": true}], "flavors_links": []}),
        ),
        (_, "/v2.0/lbaas/availabilityzones") => {
            Reply::ok(&json!({"availability_zones": [{"name": "az1", "enabled": true}]}))
        }
        (_, path) if path.contains("/quotas/") => Reply::ok(
            &json!({"quota": {"loadbalancer": 7, "load_balancer": 7, "pool": -1, "health_monitor": null}}),
        ),
        (_, "/v2.0/lbaas/healthmonitors") => Reply::ok(&json!({"healthmonitors": [hm]})),
        _ => Reply::ok(&json!({"healthmonitor": hm})),
    });
    let octavia = cloud.client().load_balancer();
    let tree = octavia.status_tree(&LoadBalancerId::new("lb1").unwrap()).await.unwrap();
    let pool = &tree.listeners[0].pools[0];
    assert_eq!(
        (pool.members[0].address, pool.health_monitor.is_none()),
        (Some(address("10.10.0.192")), true)
    );
    assert_eq!(octavia.providers().await.unwrap()[0].name, "ovn");
    assert_eq!(octavia.flavors(Some("small")).all().await.unwrap()[0].name, "small");
    assert!(octavia.availability_zones().all().await.unwrap()[0].enabled);
    let quota = octavia.quota(&ProjectId::new(PROJECT).unwrap()).await.unwrap();
    assert_eq!((quota.loadbalancer, quota.pool, quota.healthmonitor), (Some(7), Some(-1), None));
    let id = HealthMonitorId::new("h1").unwrap();
    let create = HealthMonitorCreate { pool_id: Some(PoolId::new("po1").unwrap()), ..monitor() };
    octavia.create_health_monitor(&create).await.unwrap();
    assert_eq!(last(&cloud).body["healthmonitor"]["pool_id"], "po1");
    octavia
        .update_health_monitor(&id, &HealthMonitorUpdate { delay: Some(9), ..Default::default() })
        .await
        .unwrap();
    assert_eq!(last(&cloud).body, json!({"healthmonitor": {"delay": 9}}));
    assert_eq!(octavia.health_monitor(&id).await.unwrap().kind, MonitorType::UdpConnect);
    assert_eq!(octavia.health_monitors(&HealthMonitorQuery::default()).all().await.unwrap().len(), 1);
    octavia.delete_health_monitor(&id).await.unwrap();
}
