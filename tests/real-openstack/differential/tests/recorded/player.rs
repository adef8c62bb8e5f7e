//! Plays recorded requests to a simulated cloud with the same estate, with its own identifiers in place of the recorded ones.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use cloud_differential::{Answer, Difference, Translation, compare};
use http::Request;
use jiff::Timestamp;
use serde_json::{Value, json};
use sim_openstack::{
    ADMIN, Account, Cloud, Config, Estate, EstateSize, Latencies, MEMBER, Outcome, Region, State, compute,
    network,
};

use crate::exchange::{self, Exchange};

const SCRUBBED: &str = "***SCRUBBED***";

/// The recorded estate: what the seeded things were called there.
const RECORDED: [(&str, &str); 11] = [
    ("project", "05a2ca643f9c4ec88c197cde22941c01"),
    ("user", "02308f8534d24c23b52983a344905e1a"),
    ("admin project", "769bd0002ea44c088bd407564ea22dbd"),
    ("public network", "29ee9118-b6d9-496d-b78e-3ecf9c7e0539"),
    ("public subnet", "f7db3c4d-4aea-45a9-9bdc-35fd105ae7db"),
    ("network", "f1fddff7-48c7-4b8c-85a0-03061df36ca3"),
    ("subnet", "eb598304-d28f-4f72-83ef-fe9006b2b0e9"),
    ("subnet6", "4aaa7064-e82d-4492-9cd3-4e487224523b"),
    ("router", "215a2d0e-3611-43cf-b386-a73c0c45484b"),
    ("group", "52416957-0427-4e3d-863d-05073dec62d4"),
    ("image", "02868281-fa1f-4396-9349-14228286783f"),
];
/// Its servers from the oldest to the newest: name, identifier, address, zone.
const RECORDED_SERVERS: [(&str, &str, &str, &str); 3] = [
    ("node-1", "46270c6c-7544-4610-bdf2-5717a89ab6ff", "10.10.0.95", "az1"),
    ("node-3", "af6ad565-aed5-42ca-9f6f-dd77b206c810", "10.10.0.192", "az1"),
    ("node-2", "a8eac561-4853-4706-abf9-c1d057ee5b3c", "10.10.0.251", "az2"),
];

pub(crate) struct Player {
    pub(crate) cloud: Cloud,
    pub(crate) estate: Estate,
    now: Timestamp,
    exchanges: BTreeMap<String, Exchange>,
    played: BTreeSet<String>,
    translation: Translation,
    pub(crate) differences: Vec<Difference>,
    pub(crate) member: String,
    pub(crate) admin: String,
}

impl Player {
    pub(crate) fn new(seed: u64) -> Self {
        let mut tls = Region::by_port("RegionTLS", "https://127.0.0.1");
        tls.interfaces = vec!["public".to_owned()];
        let latencies = Latencies { server_delete: Duration::ZERO, ..Latencies::default() };
        let config = Config {
            seed,
            regions: vec![Region::by_port("RegionOne", "http://127.0.0.1"), tls],
            latencies,
            default_load_balancer_provider: "ovn".to_owned(),
            token_lifetime: Duration::from_secs(30 * 86_400), // the replay waits often, in virtual time
            ..Config::default()
        };
        let now = "2026-11-15T07:51:30Z".parse().unwrap();
        let size = EstateSize { servers: 0, cidr: Some("10.10.0.0/24".to_owned()) };
        let (cloud, estate) = sim_openstack::seed(config, now, &size);
        let mut player = Self {
            cloud,
            estate,
            now,
            exchanges: exchange::load(),
            played: BTreeSet::new(),
            translation: Translation::default(),
            differences: Vec::new(),
            member: String::new(),
            admin: String::new(),
        };
        player.complete_estate();
        player.member = player.login(MEMBER);
        player.admin = player.login(ADMIN);
        player.open_ssh();
        player
    }

    /// The second subnet and the servers of the recorded estate.
    fn complete_estate(&mut self) {
        let estate = self.estate.clone();
        let world = self.cloud.world();
        // There was no Barbican, and so no role for it.
        let identity = &mut world.state.identity;
        let creator = identity.role_named("creator").map(|role| role.id.clone());
        identity.assignments.retain(|(_, _, role)| Some(role) != creator.as_ref());
        let subnet6 = network::NewSubnet {
            name: "k8s-subnet6".to_owned(),
            network_id: estate.network.clone(),
            cidr: "fd00:10::/64".to_owned(),
            pool: None,
        };
        let subnet6 = network::add_subnet(world, &estate.project, subnet6).unwrap();
        world.state.network.subnets.update(&subnet6, |subnet| {
            subnet.ipv6_ra_mode = Some("dhcpv6-stateful".to_owned());
            subnet.ipv6_address_mode = Some("dhcpv6-stateful".to_owned());
        });
        world
            .state
            .network
            .subnets
            .update(&estate.external_subnet, |subnet| "172.24.4.0/24".clone_into(&mut subnet.cidr));
        let dns = vec!["1.1.1.1".to_owned()];
        world.state.network.subnets.update(&estate.subnet, |subnet| subnet.dns_nameservers = dns);
        network::connect(world, &estate.router, &subnet6).unwrap();
        let limits = network::NetworkQuota {
            network: -1,
            port: -1,
            floatingip: -1,
            security_group: -1,
            security_group_rule: -1,
            ..network::NetworkQuota::default()
        };
        world.state.network.quotas.insert(estate.project.clone(), limits);
        world.state.compute.quotas.remove(&estate.project);
        for (name, id, address, zone) in RECORDED_SERVERS {
            let new = compute::NewServer {
                zone: Some(zone.to_owned()),
                metadata: [("role".to_owned(), "worker".to_owned())].into(),
                ..estate.new_server(name)
            };
            let server = compute::boot(world, new);
            let port = world.state.network.ports.find("device_id", &server).next().unwrap();
            let own = port.fixed_ips[0].ip_address.clone();
            self.translation.insert(id, &server);
            self.translation.insert(address, &own);
        }
        let own = |name: &str| match name {
            "project" => &estate.project,
            "user" => &estate.user,
            "admin project" => &estate.admin_project,
            "public network" => &estate.external_network,
            "public subnet" => &estate.external_subnet,
            "network" => &estate.network,
            "subnet" => &estate.subnet,
            "subnet6" => &subnet6,
            "router" => &estate.router,
            "group" => &estate.security_group,
            _ => &estate.image,
        };
        for (name, recorded) in RECORDED {
            self.translation.insert(recorded, own(name));
        }
    }

    /// The recorded group of the Nodes had a rule of its own.
    fn open_ssh(&mut self) {
        let rule = json!({
            "security_group_id": self.estate.security_group, "direction": "ingress", "protocol": "tcp",
            "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "0.0.0.0/0",
        });
        let (member, url) = (self.member.clone(), "http://127.0.0.1:9696/v2.0/security-group-rules");
        let made = self.ask(&member, "POST", url, &[], &json!({"security_group_rule": rule}));
        assert_eq!(made.status, 201, "{}", made.body);
    }

    fn login(&mut self, account: Account) -> String {
        let user = json!({"name": account.user, "domain": {"id": "default"}, "password": account.password});
        let scope = json!({"project": {"name": account.project, "domain": {"id": "default"}}});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        let body = json!({"auth": {"identity": identity, "scope": scope}});
        let reply = self.ask("", "POST", "http://127.0.0.1:5000/v3/auth/tokens", &[], &body);
        reply.headers["x-subject-token"].clone()
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Changes the state behind the API's back, after everything that is due by now.
    pub(crate) fn edit<R>(&mut self, change: impl FnOnce(&mut State) -> R) -> R {
        self.cloud.settle(self.now);
        self.cloud.edit(change)
    }

    /// How many exchanges were replayed.
    pub(crate) fn replayed(&self) -> usize {
        self.played.len()
    }

    /// Exchanges that no script has played.
    pub(crate) fn left_over(&self) -> Vec<&str> {
        let names = self.exchanges.keys().map(String::as_str);
        names.filter(|name| !self.played.contains(*name)).collect()
    }

    /// The recorded identifier's counterpart here.
    pub(crate) fn own(&self, recorded: &str) -> String {
        self.translation.get(recorded).unwrap_or(recorded).to_owned()
    }

    /// Says which identifier here is meant by a recorded one that no answer told.
    pub(crate) fn translate(&mut self, recorded: &str, own: &str) {
        self.translation.insert(recorded, own);
    }

    /// Says which identifier here is used where a recorded one was, although it is another thing's.
    pub(crate) fn stand_in(&mut self, recorded: &str, own: &str) {
        self.translation.stand_in(recorded, own);
    }

    /// The value of a member in a recorded answer.
    pub(crate) fn recorded_body(&self, name: &str) -> Value {
        self.exchanges[name].answer.body.clone()
    }

    /// The identifier at the end of a recorded path.
    pub(crate) fn recorded_id(&self, name: &str) -> String {
        let url = &self.exchanges[name].url;
        let path = url.split('?').next().unwrap();
        path.rsplit('/').next().unwrap().to_owned()
    }

    /// Plays an exchange as the member of the project.
    pub(crate) fn play(&mut self, name: &str) -> Value {
        let token = self.member.clone();
        self.play_with(name, &token, SCRUBBED)
    }

    /// Plays an exchange as the administrator.
    pub(crate) fn play_as_admin(&mut self, name: &str) -> Value {
        let token = self.admin.clone();
        self.play_with(name, &token, SCRUBBED)
    }

    /// Plays an exchange with a token, and a secret in place of what was scrubbed from the body.
    pub(crate) fn play_with(&mut self, name: &str, token: &str, secret: &str) -> Value {
        let exchange =
            self.exchanges.get(name).unwrap_or_else(|| panic!("no exchange {name} was recorded")).clone();
        assert!(self.played.insert(name.to_owned()), "{name} is played twice");
        let url = self.translation.text(&exchange.url);
        let body = self.translation.value(&exchange.request_body).to_string().replace(SCRUBBED, secret);
        let body: Value = serde_json::from_str(&body).unwrap();
        let headers: Vec<(&str, &str)> = exchange
            .request_headers
            .iter()
            .map(|(name, value)| (name.as_str(), if value == SCRUBBED { token } else { value.as_str() }))
            .collect();
        let reply = self.ask("", &exchange.method, &url, &headers, &body);
        self.differences.extend(compare(name, &exchange.answer, &exchange.cut, &reply, &self.translation));
        if exchange.answer.is_success() && exchange.method == "POST" {
            self.translation.learn(&exchange.answer.body, &reply.body);
        }
        reply.body
    }

    /// A request that was made but not recorded, with identifiers of this cloud.
    pub(crate) fn ask(
        &mut self,
        token: &str,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(url);
        if !token.is_empty() {
            request = request.header("x-auth-token", token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        match self.cloud.handle(request.body(Bytes::from(body)).unwrap(), self.now) {
            Outcome::Reply(response) => Answer::read(&response),
            other => panic!("no answer to {url}: {other:?}"),
        }
    }
}
