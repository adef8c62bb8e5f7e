//! What was found, as a picture for people. Pure; decides nothing, and invents nothing where nothing was read.

use std::collections::BTreeSet;

use bowline_cloud::picture::{BalancerPicture, Detail, Frontend, Member, Owner, Pool, Status};
use openstack_client::load_balancer::{
    self as octavia, BatchMember, Listener, OperatingStatus, ProvisioningStatus,
};

use super::found::{Children, Found, FoundBalancer, FoundPool, Tree};
use super::names::{LOAD_BALANCER_PREFIX, Names};
use super::ownership::clusters_in;
use super::wanted::{Wanted, WantedListener};

/// The load balancer that was found, if one was. `wanted` is what it shall be, unless it shall go.
#[must_use]
pub fn picture(names: &Names, wanted: Option<&Wanted>, found: &Found) -> Option<BalancerPicture> {
    let there = found.balancer.as_ref()?;
    let balancer = &there.balancer;
    let further = balancer.additional_vips.iter().filter_map(|vip| vip.ip_address);
    let (detail, frontends, unused_pools) = parts(wanted, there);
    Some(BalancerPicture {
        id: balancer.id.to_string(),
        name: balancer.name.clone(),
        driver: Some(balancer.provider.clone()).filter(|driver| !driver.is_empty()),
        status: status(&balancer.provisioning_status, &balancer.operating_status),
        addresses: balancer.vip_address.into_iter().chain(further).collect(),
        public_addresses: found.floating.attached.iter().map(|one| one.floating_ip_address).collect(),
        tags: balancer.tags.clone(),
        owner: owner(names, there),
        detail,
        frontends,
        unused_pools,
    })
}

fn owner(names: &Names, there: &FoundBalancer) -> Owner {
    let own_tag = names.tag();
    let listeners: &[Listener] = match &there.children {
        Children::Known(tree) => &tree.listeners,
        Children::AsWanted | Children::Busy => &[],
    };
    let on_listeners = listeners.iter().flat_map(|listener| &listener.tags);
    let tags = there.balancer.tags.iter().chain(on_listeners);
    let others = tags.filter(|tag| tag.starts_with(LOAD_BALANCER_PREFIX) && **tag != own_tag);
    let sharers: BTreeSet<&String> = others.collect();
    Owner {
        own: there.balancer.name == own_tag || there.balancer.name == names.legacy_load_balancer(),
        clusters: clusters_in(&there.balancer.tags).map(ToOwned::to_owned).collect(),
        sharers: sharers.into_iter().cloned().collect(),
    }
}

fn parts(wanted: Option<&Wanted>, there: &FoundBalancer) -> (Detail, Vec<Frontend>, Vec<Pool>) {
    match &there.children {
        Children::Known(tree) => {
            let mut frontends: Vec<_> = tree.listeners.iter().map(|one| frontend(tree, one)).collect();
            frontends.sort_by(|a, b| (a.port, &a.protocol).cmp(&(b.port, &b.protocol)));
            let used: BTreeSet<_> = tree
                .listeners
                .iter()
                .flat_map(|one| tree.pools_of(one))
                .map(|found| &found.pool.id)
                .collect();
            let unused = tree.pools.iter().filter(|found| !used.contains(&found.pool.id));
            (Detail::Read, frontends, unused.map(pool).collect())
        }
        Children::AsWanted => {
            let wish = wanted.map(|wanted| wanted.listeners.iter().map(wished).collect());
            (Detail::AsWanted, wish.unwrap_or_default(), Vec::new())
        }
        Children::Busy => (Detail::Busy, Vec::new(), Vec::new()),
    }
}

fn frontend(tree: &Tree, listener: &Listener) -> Frontend {
    Frontend {
        id: Some(listener.id.to_string()),
        name: listener.name.clone(),
        protocol: listener.protocol.to_string(),
        port: listener.protocol_port,
        status: status(&listener.provisioning_status, &listener.operating_status),
        allowed: listener.allowed_cidrs.clone(),
        pools: tree.pools_of(listener).map(pool).collect(),
    }
}

fn pool(found: &FoundPool) -> Pool {
    let FoundPool { pool, members, monitor } = found;
    let mut members: Vec<_> = members.to_vec().iter().map(member).collect();
    members.sort_by(|a, b| (&a.name, a.address, a.port).cmp(&(&b.name, b.address, b.port)));
    Pool {
        id: Some(pool.id.to_string()),
        name: pool.name.clone(),
        protocol: pool.protocol.to_string(),
        algorithm: pool.lb_algorithm.to_string(),
        status: status(&pool.provisioning_status, &pool.operating_status),
        monitor: monitor.as_ref().map(|monitor| monitor.kind.to_string()),
        members,
    }
}

fn member(member: &octavia::Member) -> Member {
    Member {
        name: member.name.clone(),
        address: member.address,
        port: member.protocol_port,
        weight: member.weight,
        status: status(&member.provisioning_status, &member.operating_status),
    }
}

/// What is wished for, and was seen to be so.
fn wished(listener: &WantedListener) -> Frontend {
    let wish = &listener.pool;
    let member = |member: BatchMember| Member {
        name: member.name,
        address: member.address,
        port: member.protocol_port,
        weight: member.weight,
        status: Status::default(),
    };
    let pool = Pool {
        id: None,
        name: wish.name.clone(),
        protocol: wish.protocol.to_string(),
        algorithm: wish.algorithm.to_string(),
        status: Status::default(),
        monitor: wish.monitor.as_ref().map(|monitor| monitor.kind.to_string()),
        members: wish.members.each().map(member).collect(),
    };
    Frontend {
        id: None,
        name: listener.name.clone(),
        protocol: listener.key.protocol.to_string(),
        port: listener.key.port,
        status: Status::default(),
        allowed: listener.allowed_cidrs.iter().flat_map(|cidrs| cidrs.iter()).cloned().collect(),
        pools: vec![pool],
    }
}

fn status(provisioning: &ProvisioningStatus, operating: &OperatingStatus) -> Status {
    Status { provisioning: provisioning.to_string(), operating: operating.to_string() }
}
