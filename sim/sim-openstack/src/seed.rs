//! A first estate: a domain, an administrator, a project with a member, flavors, an image, an external network, a
//! network behind a router, servers. Enough for a cluster, and for `openstack` to work.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::cloud::{Cloud, World};
use crate::compute::{self, ComputeQuota, Flavor, NewServer};
use crate::config::{Config, Service};
use crate::identity::{Domain, Project, Role, User};
use crate::image::Image;
use crate::network::{self, NetworkQuota, NewSubnet};

#[cfg(test)]
pub(crate) mod testing;

/// Somebody who can log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account<'a> {
    /// The user's name.
    pub user: &'a str,
    /// Its password.
    pub password: &'a str,
    /// Its project's name.
    pub project: &'a str,
}

/// The administrator.
pub const ADMIN: Account<'_> = Account { user: "admin", password: "admin-secret", project: "admin" };
/// The member that a cluster runs as.
pub const MEMBER: Account<'_> = Account { user: "k8s", password: "k8s-secret", project: "k8s" };

/// How large the estate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstateSize {
    /// How many servers there are, called `node-1` and so on.
    pub servers: usize,
    /// The range of their network; none: one that is large enough.
    pub cidr: Option<String>,
}

impl Default for EstateSize {
    fn default() -> Self {
        Self { servers: 3, cidr: None }
    }
}

/// The identifiers of what was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Estate {
    pub admin_project: String,
    pub project: String,
    pub admin_user: String,
    pub user: String,
    pub flavor: String,
    pub image: String,
    pub external_network: String,
    pub external_subnet: String,
    pub network: String,
    pub subnet: String,
    pub router: String,
    pub security_group: String,
    pub servers: Vec<String>,
}

impl Estate {
    /// An ordinary server: of the member, in its network and its security group.
    #[must_use]
    pub fn new_server(&self, name: &str) -> NewServer {
        NewServer {
            name: name.to_owned(),
            project_id: self.project.clone(),
            user_id: self.user.clone(),
            flavor_id: self.flavor.clone(),
            image_id: Some(self.image.clone()),
            networks: vec![self.network.clone()],
            security_groups: vec![self.security_group.clone()],
            ..NewServer::default()
        }
    }
}

/// A cloud with an estate.
#[must_use]
pub fn seed(config: Config, now: Timestamp, size: &EstateSize) -> (Cloud, Estate) {
    let mut cloud = Cloud::new(config, now);
    let world = cloud.world();
    let mut estate = Estate::default();
    people(world, &mut estate);
    things(world, &mut estate);
    networks(world, &mut estate, size);
    servers(world, &mut estate, size.servers);
    (cloud, estate)
}

fn people(world: &mut World, estate: &mut Estate) {
    let domain = Domain { id: "default".to_owned(), name: "Default".to_owned() };
    world.state.identity.domains.insert(domain.id.clone(), domain);
    let names =
        ["admin", "manager", "member", "reader", "load-balancer_member", "load-balancer_observer", "creator"];
    for name in names {
        let immutable = matches!(name, "admin" | "manager" | "member" | "reader");
        let role = Role { id: world.ids.hex(), name: name.to_owned(), immutable };
        world.state.identity.roles.insert(role.id.clone(), role);
    }
    (estate.admin_user, estate.admin_project) = add_account(world, ADMIN, &["admin"]);
    (estate.user, estate.project) =
        add_account(world, MEMBER, &["member", "load-balancer_member", "creator"]);
    let unlimited = ComputeQuota { instances: -1, cores: -1, ram: -1 };
    world.state.compute.quotas.insert(estate.project.clone(), unlimited);
    world.state.network.quotas.insert(estate.project.clone(), NetworkQuota::unlimited());
}

/// Adds a user with a project of its own, in which it has these roles; the identifiers of the user and the project.
pub fn add_account(world: &mut World, account: Account<'_>, roles: &[&str]) -> (String, String) {
    let project = Project {
        id: world.ids.hex(),
        name: account.project.to_owned(),
        domain_id: "default".to_owned(),
        description: String::new(),
        enabled: true,
        tags: Vec::new(),
    };
    let user = User {
        id: world.ids.hex(),
        name: account.user.to_owned(),
        domain_id: "default".to_owned(),
        password: account.password.to_owned(),
        enabled: true,
        default_project_id: Some(project.id.clone()),
    };
    let ids = (user.id.clone(), project.id.clone());
    let identity = &mut world.state.identity;
    for role in roles {
        if let Some(role) = identity.role_named(role).map(|role| role.id.clone()) {
            identity.assignments.insert((ids.0.clone(), ids.1.clone(), role));
        }
    }
    identity.projects.insert(project.id.clone(), project);
    identity.users.insert(user.id.clone(), user);
    ids
}

fn things(world: &mut World, estate: &mut Estate) {
    let sizes =
        [("1", "m1.tiny", 1, 512, 1), ("2", "m1.small", 1, 2048, 20), ("3", "m1.medium", 2, 4096, 40)];
    for (id, name, vcpus, ram, disk) in sizes {
        let (id, name) = (id.to_owned(), name.to_owned());
        let flavor = Flavor { id, name, vcpus, ram, disk, is_public: true, extra_specs: BTreeMap::new() };
        world.state.compute.flavors.insert(flavor.id.clone(), flavor);
    }
    let image = Image {
        id: world.ids.uuid(),
        name: "tiny".to_owned(),
        project_id: estate.admin_project.clone(),
        created_at: crate::clock::zulu(world.now),
    };
    estate.flavor = "1".to_owned();
    estate.image.clone_from(&image.id);
    world.state.image.images.insert(image.id.clone(), image);
}

fn networks(world: &mut World, estate: &mut Estate, size: &EstateSize) {
    estate.external_network = network::add_network(world, &estate.admin_project, "public", true);
    let public = NewSubnet {
        name: "public-v4".to_owned(),
        network_id: estate.external_network.clone(),
        cidr: "172.24.0.0/16".to_owned(),
        pool: Some(("172.24.4.10".to_owned(), "172.24.255.250".to_owned())),
    };
    estate.external_subnet = network::add_subnet(world, &estate.admin_project, public).unwrap_or_default();
    let cidr = size.cidr.clone().unwrap_or_else(|| {
        if size.servers < 60_000 { "10.10.0.0/16".to_owned() } else { "10.0.0.0/8".to_owned() }
    });
    estate.network = network::add_network(world, &estate.project, "k8s-net", false);
    let inside =
        NewSubnet { name: "k8s-subnet".to_owned(), network_id: estate.network.clone(), cidr, pool: None };
    estate.subnet = network::add_subnet(world, &estate.project, inside).unwrap_or_default();
    let out = estate.external_network.clone();
    estate.router = network::add_router(world, &estate.project, "k8s-router", Some(&out));
    network::connect(world, &estate.router, &estate.subnet);
    estate.security_group = network::add_group(world, &estate.project, "k8s-nodes");
}

fn servers(world: &mut World, estate: &mut Estate, count: usize) {
    for number in 1..=count {
        let new = NewServer {
            metadata: BTreeMap::from([("role".to_owned(), "worker".to_owned())]),
            ..estate.new_server(&format!("node-{number}"))
        };
        estate.servers.push(compute::boot(world, new));
    }
}

/// A `clouds.yaml` for the accounts of an estate: clouds `sim` and `sim-admin`.
#[must_use]
pub fn clouds_yaml(config: &Config) -> String {
    let auth_url = format!("{}/v3", config.base(Service::Identity));
    let region = config.regions.first().map_or("RegionOne", |region| region.name.as_str());
    let cloud = |name: &str, account: Account<'_>| {
        format!(
            "  {name}:\n    region_name: {region}\n    identity_api_version: 3\n    auth:\n      auth_url: {auth_url}\n      \
             username: {}\n      password: {}\n      project_name: {}\n      user_domain_name: Default\n      \
             project_domain_name: Default\n",
            account.user, account.password, account.project
        )
    };
    format!("clouds:\n{}{}", cloud("sim", MEMBER), cloud("sim-admin", ADMIN))
}

/// A `cloud.conf` for an account of an estate. It ends in `[LoadBalancer]`, so that further lines can follow.
#[must_use]
pub fn cloud_conf(config: &Config, account: Account<'_>, estate: &Estate) -> String {
    let auth_url = format!("{}/v3", config.base(Service::Identity));
    let region = config.regions.first().map_or("RegionOne", |region| region.name.as_str());
    let Account { user, password, project } = account;
    let Estate { subnet, external_network, .. } = estate;
    format!(
        "[Global]\nauth-url = {auth_url}\nregion = {region}\nusername = {user}\npassword = {password}\n\
         tenant-name = {project}\ndomain-id = default\n\n\
         [LoadBalancer]\nsubnet-id = {subnet}\nfloating-network-id = {external_network}\n"
    )
}
