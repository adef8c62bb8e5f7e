//! A simulated OpenStack, over HTTP or without a connection, and what tests do with one. A test can put a front before it, which sees
//! every request and decides what is answered.

mod observe;
mod things;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use jiff::Timestamp;
use openstack_client::clouds_yaml::Documents;
use openstack_client::{Client, Settings, Timeouts, Transport};
use serde_json::{Value, json};
use sim_openstack::compute::{NewServer, boot};
use sim_openstack::network::Port;
use sim_openstack::{
    Account, Config, Estate, EstateSize, Faults, Latencies, MEMBER, ReplyLost, SimService, State, World,
    cloud_conf, clouds_yaml, seed,
};
use zeroize::Zeroizing;

use crate::http::{Bound, Server, whole};

pub use self::things::{EXTERNAL_TAG, Things};

/// What is chosen before a cloud starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many servers there are, called `node-1` and so on.
    pub servers: usize,
    /// What its clock shows now.
    pub now: Timestamp,
    /// Everything else. A cloud that is served gets other addresses than it says.
    pub config: Config,
}

impl Options {
    /// A cloud with so many servers in which everything is done at once.
    #[must_use]
    pub fn new(servers: usize) -> Self {
        let config = Config { latencies: Latencies::none(), ..Config::default() };
        Self { servers, now: Timestamp::now(), config }
    }
}

/// A cloud. If it is served, then until it is dropped.
pub struct Cloud {
    /// The identifiers of what was in it from the start.
    pub estate: Estate,
    /// The cloud itself, behind the front.
    pub sim: SimService,
    /// None: it is asked without a connection.
    _server: Option<Server>,
}

impl Cloud {
    /// Starts one with so many servers, in which everything is done at once.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(servers: usize) -> anyhow::Result<Self> {
        Self::start_with(Options::new(servers))
    }

    /// Starts one.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start_with(options: Options) -> anyhow::Result<Self> {
        Self::start_behind(Bound::new()?, options, |sim, request| async move { sim.answer(request).await })
    }

    /// Starts one on a port, behind a front: a closure that is called with the cloud and each request. The answer of the front is sent;
    /// its error breaks the connection.
    ///
    /// # Errors
    /// When the runtime cannot listen.
    pub fn start_behind<F, A>(bound: Bound, options: Options, front: F) -> anyhow::Result<Self>
    where
        F: Fn(SimService, Request<Bytes>) -> A + Clone + Send + 'static,
        A: Future<Output = Result<Response<Bytes>, ReplyLost>> + Send + 'static,
    {
        let config = Config { regions: Config::at(&bound.url).regions, ..options.config };
        let cloud = Self::in_process(Options { config, ..options });
        let served = cloud.sim.clone();
        let server = bound.serve(move |request| {
            let (sim, front) = (served.clone(), front.clone());
            async move {
                let request = whole(request).await.map_err(|_| ReplyLost)?;
                front(sim, request).await.map(|answer| answer.map(Full::new))
            }
        })?;
        Ok(Self { _server: Some(server), ..cloud })
    }

    /// One without a server, such as for virtual time.
    #[must_use]
    pub fn in_process(options: Options) -> Self {
        let size = EstateSize { servers: options.servers, ..EstateSize::default() };
        let (cloud, estate) = seed(options.config, options.now, &size);
        Self { estate, sim: SimService::on_tokio_time(cloud), _server: None }
    }

    /// The settings of a client in this process for an account of the `clouds.yaml`: it goes by the clock of the cloud.
    ///
    /// # Errors
    /// When the `clouds.yaml` has no such account.
    pub fn settings(&self, account: &str) -> anyhow::Result<Settings> {
        let clouds = Zeroizing::new(self.clouds_yaml());
        let entry = Documents { clouds, ..Documents::default() }.entry(Some(account))?;
        let clock = self.sim.clone();
        let settings = Settings::new(entry.auth.resolve()?).clock(Arc::new(move || clock.now()));
        Ok(settings.region(entry.region.context("no region")?))
    }

    /// A client in this process for an account of the `clouds.yaml`.
    ///
    /// # Errors
    /// When the `clouds.yaml` has no such account.
    pub fn client(&self, account: &str) -> anyhow::Result<Client> {
        Ok(Client::new(Transport::new(self.sim.clone(), Timeouts::default()), self.settings(account)?))
    }

    /// A `cloud.conf` for an account, with these lines in `[LoadBalancer]`.
    #[must_use]
    pub fn conf(&self, account: Account<'_>, load_balancer: &str) -> String {
        let text = self.sim.with(|cloud| cloud_conf(&cloud.world().config, account, &self.estate));
        format!("{text}{load_balancer}\n")
    }

    /// Writes a `cloud.conf` for the member, with these lines in `[LoadBalancer]`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_conf(&self, folder: &Path, load_balancer: &str) -> anyhow::Result<PathBuf> {
        self.write_conf_with(folder, MEMBER.password, load_balancer)
    }

    /// The same with another password.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_conf_with(
        &self,
        folder: &Path,
        password: &str,
        load_balancer: &str,
    ) -> anyhow::Result<PathBuf> {
        let path = folder.join("cloud.conf");
        std::fs::write(&path, self.conf(Account { password, ..MEMBER }, load_balancer))?;
        Ok(path)
    }

    /// The text of a `clouds.yaml` with clouds `sim` and `sim-admin`.
    #[must_use]
    pub fn clouds_yaml(&self) -> String {
        self.sim.with(|cloud| clouds_yaml(&cloud.world().config))
    }

    /// Writes a `clouds.yaml` with clouds `sim` and `sim-admin`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_clouds_yaml(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let path = folder.join("clouds.yaml");
        std::fs::write(&path, self.clouds_yaml())?;
        Ok(path)
    }

    /// Reads what the cloud knows.
    pub fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        self.sim.with(|cloud| look(cloud.state()))
    }

    /// Changes it behind the API's back.
    pub fn world<R>(&self, change: impl FnOnce(&mut World) -> R) -> R {
        self.sim.with(|cloud| change(cloud.world()))
    }

    /// Changes the state as an operator or a bug does.
    pub fn edit<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        self.sim.with(|cloud| cloud.edit(change))
    }

    /// Gives the member another password and makes all tokens invalid.
    ///
    /// # Errors
    /// When there is no member any more.
    pub fn change_password(&self, password: &str) -> anyhow::Result<()> {
        self.edit(|state| {
            let member = state.identity.users.get_mut(&self.estate.user).context("no member")?;
            password.clone_into(&mut member.password);
            state.identity.tokens.clear();
            Ok(())
        })
    }

    /// Changes which requests fail.
    pub fn disturb<R>(&self, change: impl FnOnce(&mut Faults) -> R) -> R {
        self.sim.with(|cloud| change(cloud.faults()))
    }

    /// Makes a request as an account, such as to `/compute/v2.1/servers`. It passes neither the front nor the faults.
    ///
    /// # Errors
    /// When the cloud refuses it.
    pub fn ask(&self, who: Account<'_>, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        let what = format!("{method} {path}");
        let (status, answer) = self.sim.with(|cloud| cloud.ask(who, method, path, body));
        ensure!(status.is_success(), "{what}: {status} {answer}");
        Ok(answer)
    }

    fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(MEMBER, Method::GET, path, &Value::Null)
    }

    fn post(&self, who: Account<'_>, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(who, Method::POST, path, body)
    }

    /// Boots an ordinary server; its id.
    pub fn boot(&self, name: &str) -> String {
        self.boot_as(self.estate.new_server(name))
    }

    /// Boots this server; its id.
    pub fn boot_as(&self, new: NewServer) -> String {
        self.world(|world| boot(world, new))
    }

    /// The id of the newest server of a name.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<String> {
        self.look(|state| {
            let servers = state.compute.servers.iter().filter(|server| server.name == name);
            servers.max_by_key(|server| server.number).map(|server| server.id.clone())
        })
    }

    /// The first port of a server.
    #[must_use]
    pub fn port(&self, server: &str) -> Option<Port> {
        self.look(|state| state.network.ports.find("device_id", server).next().cloned())
    }

    /// Deletes a server, as its owner does.
    ///
    /// # Errors
    /// When the cloud refuses.
    pub async fn delete_server(&self, id: &str) -> anyhow::Result<()> {
        self.ask(MEMBER, Method::DELETE, &format!("/compute/v2.1/servers/{id}"), &Value::Null).map(drop)
    }

    /// Makes another subnet in the network of the servers; its id.
    ///
    /// # Errors
    /// When the cloud refuses.
    pub async fn add_subnet(&self, cidr: &str) -> anyhow::Result<String> {
        let new = json!({"subnet": {"network_id": self.estate.network, "ip_version": 4, "cidr": cidr}});
        let subnet = self.post(MEMBER, "/network/v2.0/subnets", &new)?;
        let id = subnet["subnet"]["id"].as_str().context("no subnet")?;
        // Floating IPs lead to it as well.
        let path = format!("/network/v2.0/routers/{}/add_router_interface", self.estate.router);
        self.ask(MEMBER, Method::PUT, &path, &json!({"subnet_id": id}))?;
        Ok(id.to_owned())
    }

    /// Makes a load balancer of the member's project, as a manager would.
    ///
    /// # Errors
    /// When the cloud refuses.
    pub async fn make_balancer(&self, name: &str, tags: &[&str]) -> anyhow::Result<()> {
        let new = json!({"loadbalancer": {"name": name, "vip_subnet_id": self.estate.subnet, "tags": tags}});
        self.post(MEMBER, "/load-balancer/v2.0/lbaas/loadbalancers", &new).map(drop)
    }

    /// Gives a load balancer another name, as if it had always had it.
    ///
    /// # Errors
    /// When there is none of the first name.
    pub fn rename_balancer(&self, from: &str, to: &str) -> anyhow::Result<()> {
        self.world(|world| {
            let balancers = &mut world.state.load_balancer.load_balancers;
            let id = balancers.iter().find(|one| one.name == from).map(|one| one.id.clone())?;
            balancers.update(&id, |one| to.clone_into(&mut one.name))
        })
        .with_context(|| format!("no load balancer {from}"))
    }
}
