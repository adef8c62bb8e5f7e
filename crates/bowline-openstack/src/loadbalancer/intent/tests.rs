//! Services as users write them, and what is wanted of the cloud for each.

mod members;
mod placement;
pub(in crate::loadbalancer) mod recorded;
pub(in crate::loadbalancer) mod refusals;
mod traffic;

use bowline_cloud::{Protocol as ServiceProtocol, ServicePort, ServiceType};

use super::*;
use crate::config::CloudConf;
use crate::loadbalancer::annotations::PREFIX;
use crate::loadbalancer::features::ApiVersion;

/// What a Service with one TCP port wants.
pub(in crate::loadbalancer) fn plain() -> Intent {
    Case::new().intent()
}

/// A Service with one TCP port, and what is around it.
struct Case {
    conf: CloudConf,
    service: ServiceView,
    version: ApiVersion,
}

impl Case {
    fn new() -> Self {
        let service = ServiceView {
            namespace: "default".into(),
            name: "web".into(),
            uid: "11111111-2222-3333-4444-555555555555".into(),
            kind: ServiceType::LoadBalancer,
            ports: vec![port(ServiceProtocol::Tcp, 80)],
            ip_families: vec![IpFamily::V4],
            ..ServiceView::default()
        };
        Self { conf: CloudConf::default(), service, version: ApiVersion(2, 27) }
    }

    /// With an annotation whose key begins with ours unless it has a slash.
    fn with(mut self, key: &str, value: &str) -> Self {
        let key = if key.contains('/') { key.to_owned() } else { format!("{PREFIX}{key}") };
        self.service.annotations.insert(key, value.to_owned());
        self
    }

    fn conf(mut self, change: impl FnOnce(&mut LoadBalancer)) -> Self {
        change(&mut self.conf.load_balancer);
        self
    }

    fn class(mut self, name: &str, class: LoadBalancerClass) -> Self {
        self.conf.classes.insert(name.to_owned(), class);
        self
    }

    fn service(mut self, change: impl FnOnce(&mut ServiceView)) -> Self {
        change(&mut self.service);
        self
    }

    fn internal(self) -> Self {
        self.with("service.beta.kubernetes.io/openstack-internal-load-balancer", "true")
    }

    fn ovn(self) -> Self {
        self.conf(|conf| conf.lb_provider = "ovn".to_owned())
    }

    fn read(&self) -> Result<Intent, Refusal> {
        let config = &self.conf.load_balancer;
        let features = Features::of(&config.lb_provider, self.version);
        let around = Surroundings { cluster: "held", config, classes: &self.conf.classes, features };
        Intent::of(&self.service, &around)
    }

    #[track_caller]
    fn intent(&self) -> Intent {
        self.read().unwrap()
    }

    #[track_caller]
    fn problems(&self) -> Vec<String> {
        self.read().unwrap_err().problems
    }
}

fn port(protocol: ServiceProtocol, number: u16) -> ServicePort {
    ServicePort { protocol, port: number, node_port: Some(30_000 + number), ..ServicePort::default() }
}

fn reasons(intent: &Intent) -> Vec<&'static str> {
    intent.notices.iter().map(|notice| notice.reason).collect()
}

#[test]
fn a_plain_service_wants_what_occm_makes_of_it() {
    let intent = Case::new().conf(|conf| conf.create_monitor = true).intent();
    assert_eq!(intent.names.load_balancer(), "kube_service_held_default_web");
    assert!(!intent.internal && !intent.keep_floating_ip && intent.allowed_cidrs);
    assert_eq!(intent.connection_limit, -1);
    let timeouts =
        Timeouts { client_data: 50_000, member_connect: 5_000, member_data: 50_000, tcp_inspect: 0 };
    assert_eq!(intent.timeouts, Some(timeouts));
    assert_eq!(intent.algorithm, Algorithm::RoundRobin);
    assert_eq!(
        intent.monitor,
        Some(MonitorValues { delay: 5, timeout: 3, max_retries: 1, max_retries_down: Some(3) })
    );
    assert_eq!(intent.source_ranges.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0.0.0.0/0"]);
    assert_eq!(intent.publication, Publication::Address(IpMode::Vip));
    assert_eq!((intent.vip, intent.member_subnet), (VipPlace::OfNodes, MemberSubnet::OfNodes));
    assert_eq!(intent.notices, []);
}

#[test]
fn lbaas_v2_create_load_balancer_status() {
    let address: IpAddr = [203, 0, 113, 7].into();
    let shown = |case: Case| {
        let mut status = case.intent().publication.status(address);
        let ingress = status.ingress.remove(0);
        (ingress.hostname.map(String::from), ingress.ip, ingress.ip_mode)
    };
    let hostnames = |conf: &mut LoadBalancer| conf.enable_ingress_hostname = true;
    let proxy = || Case::new().with("proxy-protocol", "true");
    assert_eq!(shown(Case::new()), (None, Some(address), Some(IpMode::Vip)));
    assert_eq!(shown(proxy()), (None, Some(address), Some(IpMode::Proxy)));
    assert_eq!(shown(proxy().conf(hostnames)), (Some("203.0.113.7.nip.io".to_owned()), None, None));
    assert_eq!(shown(Case::new().conf(hostnames)), (None, Some(address), Some(IpMode::Vip)));
    let named = proxy().conf(hostnames).with("hostname", "app.example.org");
    assert_eq!(shown(named), (Some("app.example.org".to_owned()), None, None));
}

#[test]
fn numbers_and_words_of_annotations_reach_the_intent() {
    let intent = Case::new()
        .with("connection-limit", "100")
        .with("timeout-client-data", "60000")
        .with("timeout-member-connect", "6000")
        .with("timeout-member-data", "70000")
        .with("timeout-tcp-inspect", "5")
        .with("lb-method", "LEAST_CONNECTIONS")
        .with("keep-floatingip", "true")
        .with("flavor-id", "f-1")
        .with("availability-zone", "az 1")
        .with("load-balancer-id", "lb-1")
        .with("load-balancer-address", "whatever was written")
        .intent();
    assert_eq!(intent.connection_limit, 100);
    let timeouts =
        Timeouts { client_data: 60_000, member_connect: 6_000, member_data: 70_000, tcp_inspect: 5 };
    assert_eq!(intent.timeouts, Some(timeouts));
    assert_eq!(intent.algorithm, Algorithm::LeastConnections);
    assert!(intent.keep_floating_ip);
    assert_eq!(intent.flavor.unwrap().as_str(), "f-1");
    assert_eq!(intent.zone.as_deref(), Some("az 1"));
    assert_eq!(intent.load_balancer.unwrap().as_str(), "lb-1");
}

#[test]
fn an_empty_annotation_takes_back_what_cloud_conf_says() {
    let conf = |conf: &mut LoadBalancer| {
        conf.flavor_id = "f-1".to_owned();
        conf.availability_zone = "az-1".to_owned();
        conf.node_selector = "gpu".to_owned();
        conf.default_tls_container_ref = "https://kms/v1/containers/c-1".to_owned();
    };
    let configured = Case::new().conf(conf).intent();
    assert!(configured.flavor.is_some() && configured.zone.is_some() && configured.ports[0].tls.is_some());
    assert_ne!(configured.nodes, NodeSelector::default());
    let cleared = Case::new()
        .conf(conf)
        .with("flavor-id", "")
        .with("availability-zone", "")
        .with("node-selector", "")
        .with("default-tls-container-ref", "")
        .intent();
    assert!(cleared.flavor.is_none() && cleared.zone.is_none() && cleared.ports[0].tls.is_none());
    assert_eq!(cleared.nodes, NodeSelector::default());
}

#[test]
fn what_the_cloud_cannot_do_is_left_out_and_told() {
    let wishes = || {
        Case::new()
            .with("timeout-client-data", "60000")
            .with("flavor-id", "f-1")
            .with("availability-zone", "az-1")
            .with("lb-method", "ROUND_ROBIN")
            .service(|service| service.source_ranges = vec!["10.0.0.0/8".into()].into())
    };
    let amphora = wishes().intent();
    assert_eq!(amphora.notices, []);
    let ovn = wishes().ovn().intent();
    assert_eq!((ovn.timeouts, &ovn.flavor, &ovn.zone, ovn.allowed_cidrs), (None, &None, &None, false));
    assert_eq!(ovn.algorithm, Algorithm::SourceIpPort);
    assert_eq!(
        reasons(&ovn),
        [
            "LoadBalancerSourceRangesIgnored",
            "LoadBalancerAvailabilityZonesIgnored",
            "LoadBalancerLbMethodUnknown",
            "LoadBalancerAnnotationIgnored",
            "LoadBalancerAnnotationIgnored",
        ]
    );
    let grouped = wishes().ovn().conf(|conf| conf.manage_security_groups = true).intent();
    assert!(!reasons(&grouped).contains(&"LoadBalancerSourceRangesIgnored"), "security groups restrict it");
    assert_eq!(Case::new().ovn().intent().notices, [], "nobody asked for anything");
}

#[test]
fn an_unknown_annotation_of_ours_is_told_with_the_name_that_was_meant() {
    let intent = Case::new().with("proxy-protocl", "true").with("example.org/proxy-protocl", "true").intent();
    let [notice] = &*intent.notices else { panic!("{:?}", intent.notices) };
    assert_eq!(
        notice.message,
        "annotation loadbalancer.openstack.org/proxy-protocl is not known; did you mean \
         loadbalancer.openstack.org/proxy-protocol?"
    );
}

#[test]
fn thousands_of_unknown_annotations_make_six_notices() {
    for name in
        ["{}", "proxy-protocol{}", "{}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
    {
        let service = |service: &mut ServiceView| {
            let key = |n: usize| (format!("{PREFIX}{}", name.replace("{}", &n.to_string())), "");
            service.annotations = (0..7_939).map(key).collect();
        };
        let intent = Case::new().service(service).intent();
        assert_eq!(intent.notices.len(), 6, "{:?}", intent.notices);
        assert_eq!(
            intent.notices[5].message,
            "and 7934 more annotations that begin with loadbalancer.openstack.org/ are not known"
        );
    }
}

#[test]
fn filter_nodes() {
    let node = |labels: &[(&str, &str)]| bowline_cloud::NodeView {
        labels: labels.iter().copied().collect(),
        ..bowline_cloud::NodeView::default()
    };
    let labels = [("k1", "v1"), ("k2", "v2=true"), ("k3", "")];
    for (selector, fits) in [
        ("", true),
        ("k1=v1", true),
        ("k1=v2", false),
        ("k2=v2=true", true),
        ("k1", true),
        ("k1=", true),
        ("k3", true),
        (" k1=v1 , k2 ", true),
        ("k1=v1, k4", false),
        ("k4=v4", false),
    ] {
        let case = Case::new().with("node-selector", selector);
        assert_eq!(case.intent().nodes.fits(&node(&labels)), fits, "{selector:?}");
    }
    let selector = Case::new().with("node-selector", "k1").intent().nodes;
    assert!(!selector.fits(&node(&[])), "a Node without labels");
}

#[test]
fn a_removal_can_be_read_from_any_annotations() {
    let of = |case: Case| {
        let config = &case.conf.load_balancer;
        Removal::of(&case.service, "held", Ownership::default(), config, true)
    };
    let plain = of(Case::new());
    assert_eq!((plain.load_balancer, plain.keep_floating_ip), (None, false));
    assert_eq!(plain.names.load_balancer(), "kube_service_held_default_web");
    let named = of(Case::new().with("load-balancer-id", "lb-1").with("keep-floatingip", "true"));
    assert_eq!((named.load_balancer.unwrap().as_str(), named.keep_floating_ip), ("lb-1", true));
    let wrong = of(Case::new().with("load-balancer-id", "a/b").with("keep-floatingip", "yes"));
    assert_eq!(
        (wrong.load_balancer, wrong.keep_floating_ip),
        (None, true),
        "an address is not given back in doubt"
    );
    assert!(!of(Case::new().with("keep-floatingip", "false")).keep_floating_ip);
}
