//! A simulated cloud that managers work on over HTTP, and what is in it. Part of several test targets.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sim_openstack::{
    ADMIN, Account, Config, Estate, EstateSize, Faults, Latencies, MEMBER, Service, SimService, World, seed,
    serve,
};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

/// A served cloud.
pub(crate) struct Cloud {
    root: String,
    service: SimService,
    pub(crate) estate: Estate,
    _stop: DropGuard,
}

/// What Services refer to.
pub(crate) struct Things {
    /// The address of a floating IP that leads nowhere.
    pub(crate) floating_ip: String,
    /// That of another one.
    pub(crate) other_floating_ip: String,
    /// A port that belongs to nothing.
    pub(crate) port: String,
    /// A certificate.
    pub(crate) secret: String,
    /// A container with that certificate.
    pub(crate) container: String,
    /// A flavor of load balancers.
    pub(crate) flavor: String,
    /// An availability zone of load balancers.
    pub(crate) zone: String,
    /// The network of the servers.
    pub(crate) network: String,
    /// Another subnet of it, without a way out.
    pub(crate) inner_subnet: String,
    /// A subnet of IPv6, in a network of its own.
    pub(crate) subnet_of_ipv6: String,
    /// That network.
    pub(crate) network_of_ipv6: String,
    /// The external network, and a subnet of it with the tag [`EXTERNAL_TAG`].
    pub(crate) external: (String, String),
}

/// The tag of the external subnet.
pub(crate) const EXTERNAL_TAG: &str = "for-services";

impl Things {
    /// What stands for them where two namespaces are compared.
    pub(crate) fn words(&self) -> Vec<(String, String)> {
        let word = |what: &str, meaning: &str| (what.to_owned(), meaning.to_owned());
        vec![
            word(&self.port, "<port>"),
            word(&self.secret, "<secret>"),
            word(&self.container, "<container>"),
            word(&self.flavor, "<flavor>"),
            word(&self.zone, "<zone>"),
            word(&self.inner_subnet, "<inner subnet>"),
            word(&self.network_of_ipv6, "<network of IPv6>"),
            word(&self.subnet_of_ipv6, "<subnet of IPv6>"),
        ]
    }
}

/// What kind of thing a list is of, where it is found, and the key of its list.
const LISTS: [(&str, Service, &str); 6] = [
    ("loadbalancers", Service::LoadBalancer, "/v2.0/lbaas/loadbalancers"),
    ("listeners", Service::LoadBalancer, "/v2.0/lbaas/listeners"),
    ("pools", Service::LoadBalancer, "/v2.0/lbaas/pools"),
    ("healthmonitors", Service::LoadBalancer, "/v2.0/lbaas/healthmonitors"),
    ("floatingips", Service::Network, "/v2.0/floatingips"),
    ("security_groups", Service::Network, "/v2.0/security-groups"),
];

impl Cloud {
    pub(crate) async fn start(servers: usize) -> anyhow::Result<Self> {
        Self::start_at(servers, jiff::Timestamp::now()).await
    }

    /// The same with a clock that shows another time now.
    pub(crate) async fn start_at(servers: usize, now: jiff::Timestamp) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let root = format!("http://{}", listener.local_addr()?);
        let config = Config { latencies: Latencies::none(), ..Config::at(&root) };
        let size = EstateSize { servers, ..EstateSize::default() };
        let (cloud, estate) = seed(config, now, &size);
        let service = SimService::on_tokio_time(cloud);
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, service.clone(), stop.clone()));
        Ok(Self { root, service, estate, _stop: stop.drop_guard() })
    }

    /// Writes a cloud.conf for it, with these lines in `[LoadBalancer]`.
    pub(crate) fn write_conf(&self, folder: &Path, load_balancer: &str) -> anyhow::Result<PathBuf> {
        self.write_conf_with(folder, MEMBER.password, load_balancer)
    }

    /// The same with another password.
    pub(crate) fn write_conf_with(
        &self,
        folder: &Path,
        password: &str,
        load_balancer: &str,
    ) -> anyhow::Result<PathBuf> {
        let path = folder.join("cloud.conf");
        let (root, estate) = (&self.root, &self.estate);
        let text = format!(
            "[Global]\nauth-url = {root}/identity/v3\nregion = RegionOne\nusername = {}\npassword = {password}\n\
             tenant-name = {}\ndomain-id = default\n[LoadBalancer]\nsubnet-id = {}\nfloating-network-id = {}\n{load_balancer}\n",
            MEMBER.user, MEMBER.project, estate.subnet, estate.external_network,
        );
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Writes a clouds.yaml for the `openstack` client: clouds `sim` and `sim-admin`.
    pub(crate) fn write_clouds_yaml(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let path = folder.join("clouds.yaml");
        std::fs::write(&path, sim_openstack::clouds_yaml(&Config::at(&self.root)))?;
        Ok(path)
    }

    /// Changes it behind everybody's back.
    pub(crate) fn world<R>(&self, change: impl FnOnce(&mut World) -> R) -> R {
        self.service.with(|cloud| change(cloud.world()))
    }

    /// Makes requests go wrong, or right again.
    pub(crate) fn disturb<R>(&self, change: impl FnOnce(&mut Faults) -> R) -> R {
        self.service.with(|cloud| change(cloud.faults()))
    }

    /// How many requests there were since the last [`forget`](Self::forget), and how many of them changed something.
    pub(crate) fn requests(&self) -> (u64, u64) {
        self.service.with(|cloud| (cloud.log().total(), cloud.log().mutating()))
    }

    /// The requests that changed something.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.service.with(|cloud| {
            let entries = cloud.log().entries();
            let changes = entries.filter(|entry| {
                !matches!(entry.method, Method::GET | Method::HEAD)
                    && entry.service != Some(Service::Identity)
            });
            changes.map(|entry| format!("{} {} -> {}", entry.method, entry.target, entry.status)).collect()
        })
    }

    /// How often what was asked for.
    pub(crate) fn counts(&self) -> Vec<String> {
        self.service.with(|cloud| {
            let counts = cloud.log().counts();
            counts.map(|(_, method, path, count)| format!("{count:>6} {method} {path}")).collect()
        })
    }

    /// Forgets the requests so far.
    pub(crate) fn forget(&self) {
        self.service.with(|cloud| cloud.log_mut().clear());
    }

    /// All that has to do with load balancers, as the APIs tell it.
    pub(crate) async fn contents(&self) -> anyhow::Result<Value> {
        let token = self.token().await?;
        let mut contents = json!({});
        for (key, service, path) in LISTS {
            contents[key] = self.get(&token, service, path).await?[key].take();
        }
        let mut members = json!({});
        let pools: Vec<String> = ids(&contents["pools"]);
        for pool in pools {
            let path = format!("/v2.0/lbaas/pools/{pool}/members");
            members[&pool] = self.get(&token, Service::LoadBalancer, &path).await?["members"].take();
        }
        contents["members"] = members;
        Ok(contents)
    }

    /// Makes what the Services of a namespace refer to.
    pub(crate) async fn prepare(&self, namespace: &str) -> anyhow::Result<Things> {
        let (member, admin) = (self.token_of(MEMBER).await?, self.token_of(ADMIN).await?);
        let lbaas = |path: &str| format!("/v2.0/lbaas/{path}");
        let new = json!({"floatingip": {"floating_network_id": self.estate.external_network}});
        let floating = self.post(&member, Service::Network, "/v2.0/floatingips", &new).await?;
        let other_floating = self.post(&member, Service::Network, "/v2.0/floatingips", &new).await?;
        // The network gets more subnets below.
        let fixed = json!([{"subnet_id": self.estate.subnet}]);
        let new = json!({"port": {"network_id": self.estate.network, "name": namespace, "fixed_ips": fixed}});
        let port = self.post(&member, Service::Network, "/v2.0/ports", &new).await?;
        let new = json!({"name": namespace, "payload": "certificate", "payload_content_type": "text/plain"});
        let secret = self.post(&member, Service::KeyManager, "/v1/secrets", &new).await?;
        let new = json!({"flavorprofile": {
            "name": namespace, "provider_name": "amphora", "flavor_data": r#"{"loadbalancer_topology": "SINGLE"}"#,
        }});
        let profile = self.post(&admin, Service::LoadBalancer, &lbaas("flavorprofiles"), &new).await?;
        let new = json!({"flavor": {"name": namespace, "flavor_profile_id": profile["flavorprofile"]["id"], "enabled": true}});
        let flavor = self.post(&admin, Service::LoadBalancer, &lbaas("flavors"), &new).await?;
        let new = json!({"availability_zone_profile": {
            "name": namespace, "provider_name": "amphora", "availability_zone_data": r#"{"compute_zone": "nova"}"#,
        }});
        let profile =
            self.post(&admin, Service::LoadBalancer, &lbaas("availabilityzoneprofiles"), &new).await?;
        let zone = format!("zone-{namespace}");
        let new = json!({"availability_zone": {
            "name": zone, "availability_zone_profile_id": profile["availability_zone_profile"]["id"], "enabled": true,
        }});
        self.post(&admin, Service::LoadBalancer, &lbaas("availabilityzones"), &new).await?;
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned).with_context(|| format!("{value}"));
        let new = json!({"name": namespace, "type": "certificate", "secret_refs": [
            {"name": "certificate", "secret_ref": secret["secret_ref"]},
        ]});
        let container = self.post(&member, Service::KeyManager, "/v1/containers", &new).await?;
        let network = self.estate.network.clone();
        let second = if namespace == "theirs" { 1 } else { 2 };
        let inner = json!({"network_id": network, "ip_version": 4, "cidr": format!("10.20.{second}.0/24")});
        let inner = self.post(&member, Service::Network, "/v2.0/subnets", &json!({"subnet": inner})).await?;
        let new = json!({"network": {}});
        let of_ipv6 = self.post(&member, Service::Network, "/v2.0/networks", &new).await?;
        let network_of_ipv6 = text(&of_ipv6["network"]["id"])?;
        let of_ipv6 = json!({
            "network_id": network_of_ipv6, "ip_version": 6, "cidr": format!("fd00:2{second}::/64"),
        });
        let of_ipv6 =
            self.post(&member, Service::Network, "/v2.0/subnets", &json!({"subnet": of_ipv6})).await?;
        let external = (self.estate.external_network.clone(), self.estate.external_subnet.clone());
        self.world(|world| {
            let tag =
                |subnet: &mut sim_openstack::network::Subnet| subnet.tags = vec![EXTERNAL_TAG.to_owned()];
            world.state.network.subnets.update(&external.1, tag)
        })
        .context("no external subnet")?;
        Ok(Things {
            container: text(&container["container_ref"])?,
            zone,
            network,
            inner_subnet: text(&inner["subnet"]["id"])?,
            network_of_ipv6,
            subnet_of_ipv6: text(&of_ipv6["subnet"]["id"])?,
            external,
            floating_ip: text(&floating["floatingip"]["floating_ip_address"])?,
            other_floating_ip: text(&other_floating["floatingip"]["floating_ip_address"])?,
            port: text(&port["port"]["id"])?,
            secret: text(&secret["secret_ref"])?,
            flavor: text(&flavor["flavor"]["id"])?,
        })
    }

    /// Makes another subnet in the network of the servers; gives its id.
    pub(crate) async fn add_subnet(&self, cidr: &str) -> anyhow::Result<String> {
        let new = json!({"subnet": {"network_id": self.estate.network, "ip_version": 4, "cidr": cidr}});
        let token = self.token().await?;
        let subnet = self.post(&token, Service::Network, "/v2.0/subnets", &new).await?;
        let id = subnet["subnet"]["id"].as_str().context("no subnet")?;
        // Floating IPs lead to it as well.
        let path = format!("/v2.0/routers/{}/add_router_interface", self.estate.router);
        let interface = json!({"subnet_id": id}).to_string();
        self.ask(Method::PUT, &token, Service::Network, &path, interface).await?;
        Ok(id.to_owned())
    }

    /// Whether Octavia is changing a load balancer.
    pub(crate) fn is_changing(&self) -> bool {
        self.world(|world| {
            let balancers = &world.state.load_balancer.load_balancers;
            balancers.iter().any(|one| one.provisioning_status.starts_with("PENDING"))
        })
    }

    /// Gives a load balancer another name, as if it had always had it.
    pub(crate) fn rename_balancer(&self, from: &str, to: &str) -> anyhow::Result<()> {
        self.world(|world| {
            let balancers = &mut world.state.load_balancer.load_balancers;
            let id = balancers.iter().find(|one| one.name == from).map(|one| one.id.clone())?;
            balancers.update(&id, |one| to.clone_into(&mut one.name))
        })
        .with_context(|| format!("no load balancer {from}"))
    }

    /// Makes a load balancer of the member's project, as a manager would.
    pub(crate) async fn make_balancer(&self, name: &str, tags: &[&str]) -> anyhow::Result<()> {
        let new = json!({"loadbalancer": {"name": name, "vip_subnet_id": self.estate.subnet, "tags": tags}});
        let token = self.token().await?;
        self.post(&token, Service::LoadBalancer, "/v2.0/lbaas/loadbalancers", &new).await.map(drop)
    }

    /// The servers: name, id and address.
    pub(crate) async fn machines(&self) -> anyhow::Result<Vec<(String, String, String)>> {
        let servers = self.get(&self.token().await?, Service::Compute, "/v2.1/servers/detail").await?;
        let mut machines = Vec::new();
        for server in servers["servers"].as_array().context("no servers")? {
            let networks = server["addresses"].as_object().context("no addresses")?;
            let first = networks.values().next().context("no network")?;
            let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            machines.push((field(&server["name"]), field(&server["id"]), field(&first[0]["addr"])));
        }
        Ok(machines)
    }

    async fn token(&self) -> anyhow::Result<String> {
        self.token_of(MEMBER).await
    }

    async fn token_of(&self, who: Account) -> anyhow::Result<String> {
        let scope = json!({"project": {"name": who.project, "domain": {"id": "default"}}});
        let user = json!({"name": who.user, "password": who.password, "domain": {"id": "default"}});
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope,
        }});
        let request = Request::post(format!("{}/identity/v3/auth/tokens", self.root))
            .header("content-type", "application/json")
            .body(body.to_string())?;
        let answer =
            self.service.clone().oneshot(request).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let token = answer.headers().get("x-subject-token").context("no token")?;
        Ok(token.to_str()?.to_owned())
    }

    async fn get(&self, token: &str, service: Service, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, token, service, path, String::new()).await
    }

    async fn post(&self, token: &str, service: Service, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, token, service, path, body.to_string()).await
    }

    async fn ask(
        &self,
        method: Method,
        token: &str,
        service: Service,
        path: &str,
        body: String,
    ) -> anyhow::Result<Value> {
        let what = format!("{method} {path}");
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/{}{path}", self.root, service.catalog_type()))
            .header("x-auth-token", token)
            .header("content-type", "application/json")
            .body(body)?;
        let answer =
            self.service.clone().oneshot(request).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let status = answer.status();
        let body =
            answer.into_body().collect().await.map_err(|error| anyhow::anyhow!("{error:?}"))?.to_bytes();
        ensure!(status.is_success(), "{what}: {status} {}", String::from_utf8_lossy(&body));
        Ok(serde_json::from_slice(&body)?)
    }
}

fn ids(list: &Value) -> Vec<String> {
    let rows = list.as_array().into_iter().flatten();
    rows.filter_map(|row| row["id"].as_str()).map(ToOwned::to_owned).collect()
}
