//! Reads security groups and the ports that matter to them, all from Neutron and all now.
//!
//! How many calls it takes does not depend on the number of Nodes: a settled Service costs two. A list is whole or it is an error,
//! so "no group" is said only where Neutron said so.

use std::collections::{BTreeMap, BTreeSet};

use openstack_client::network::{
    Network, Port, PortQuery, SecurityGroup, SecurityGroupQuery, SecurityGroupRuleQuery,
};
use openstack_client::{Error, ProjectId, SecurityGroupId};

use super::index::Index;
use super::{FoundGroup, GroupError, Target, Targets};

/// Lists are read whole, so pages are large.
const PAGE_SIZE: u32 = 1000;

/// Up to so many servers are named in one request: some 2 kB, where servers in front of Neutron often take 4 kB with all headers.
/// For more of them all ports of the project are read.
const NAMED_AT_ONCE: usize = 40;

/// What was seen of a Service's group and of its Nodes.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The group, if it is there.
    pub found: Option<FoundGroup>,
    /// The ports at which the Nodes are reached.
    pub ports: Vec<Port>,
}

/// Which group is looked for, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The exact name.
    pub name: &'a str,
    /// The Nodes of the Service; none if it is to be removed.
    pub targets: &'a Targets,
    /// The group, if it was made or first seen a moment ago: a list that lags behind does not show it.
    pub made: Option<&'a SecurityGroupId>,
    /// The group as it was just made, if nothing was done with it since then: it need not be read.
    pub untouched: Option<&'a SecurityGroup>,
    /// Whether a list of all groups that does not show this one proves that it is not there: nobody can have created it yet, or this
    /// process has deleted it. Otherwise Neutron is asked for its name, because a list that was cut short looks like a whole one.
    pub list_is_proof: bool,
}

/// Looks for the group of one Service: by its name, then for the ports that have it, then, if there are Nodes without it, for theirs.
///
/// # Errors
///
/// [`GroupError`]; if there are several groups of that name, it names them.
pub async fn observe(
    network: &Network,
    project: &ProjectId,
    asked: Asked<'_>,
) -> Result<Observed, GroupError> {
    if let Some(untouched) = asked.untouched {
        let targets: Vec<&Target> = asked.targets.nodes.iter().collect();
        let ports =
            if targets.is_empty() { Vec::new() } else { ports_of(network, project, &targets).await? };
        return Ok(assemble(Some(untouched.clone()), asked.targets, &Index::of(&ports)));
    }
    let group = named(network, project, asked.name).await?;
    let group = with_rules(network, or_made(network, group, asked).await?).await?;
    let mut ports = match &group {
        Some(group) => {
            let query = PortQuery { security_group: Some(group.id.clone()), ..PortQuery::default() };
            network.ports(&query).of(PAGE_SIZE).all().await?
        }
        None => Vec::new(),
    };
    let index = Index::of(&ports);
    let without: Vec<&Target> =
        asked.targets.nodes.iter().filter(|target| index.owned_by(target).next().is_none()).collect();
    if !without.is_empty() {
        ports.extend(ports_of(network, project, &without).await?);
    }
    Ok(assemble(group, asked.targets, &Index::of(&ports)))
}

/// The same for many Services at once: one list of the project's groups and one of its ports, and one query for each group that the list
/// should show and does not. What is wrong with one Service's group is that Service's error only.
///
/// # Errors
///
/// [`GroupError`] when a list cannot be had.
pub async fn observe_many(
    network: &Network,
    project: &ProjectId,
    asked: &[Asked<'_>],
) -> Result<Vec<Result<Observed, GroupError>>, GroupError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let mut groups: BTreeMap<String, Vec<SecurityGroup>> = BTreeMap::new();
    let names: BTreeSet<&str> = asked.iter().map(|asked| asked.name).collect();
    for group in all_groups(network, project).await? {
        if names.contains(group.name.as_str()) {
            groups.entry(group.name.clone()).or_default().push(group);
        }
    }
    let ports = all_ports(network, project).await?;
    let index = Index::of(&ports);
    let mut observed = Vec::with_capacity(asked.len());
    for asked in asked {
        let listed = groups.remove(asked.name).unwrap_or_default();
        observed.push(match listed_or_asked(network, project, listed, *asked).await {
            Ok(group) => Ok(assemble(with_rules(network, group).await?, asked.targets, &index)),
            Err(own) => Err(own),
        });
    }
    Ok(observed)
}

/// The group that was listed, or the one that is there although the list does not show it.
async fn listed_or_asked(
    network: &Network,
    project: &ProjectId,
    listed: Vec<SecurityGroup>,
    asked: Asked<'_>,
) -> Result<Option<SecurityGroup>, GroupError> {
    let group = match only(asked.name, listed)? {
        None if asked.made.is_none() && !asked.list_is_proof => named(network, project, asked.name).await?,
        listed => listed,
    };
    or_made(network, group, asked).await
}

/// The group of a name, if there is one.
async fn named(
    network: &Network,
    project: &ProjectId,
    name: &str,
) -> Result<Option<SecurityGroup>, GroupError> {
    let query = SecurityGroupQuery { project_id: Some(project.clone()), ..SecurityGroupQuery::by_name(name) };
    let listed = network.security_groups(&query).of(PAGE_SIZE).all().await?;
    only(name, listed.into_iter().filter(|group| group.name == name).collect())
}

/// All groups of the project: an administrator would see those of the whole cloud.
pub(super) async fn all_groups(network: &Network, project: &ProjectId) -> Result<Vec<SecurityGroup>, Error> {
    let query = SecurityGroupQuery { project_id: Some(project.clone()), ..SecurityGroupQuery::default() };
    network.security_groups(&query).of(PAGE_SIZE).all().await
}

async fn all_ports(network: &Network, project: &ProjectId) -> Result<Vec<Port>, Error> {
    let query = PortQuery { project_id: Some(project.clone()), ..PortQuery::default() };
    network.ports(&query).of(PAGE_SIZE).all().await
}

async fn ports_of(network: &Network, project: &ProjectId, targets: &[&Target]) -> Result<Vec<Port>, Error> {
    let servers: Vec<String> =
        targets.iter().filter_map(|target| Some(target.server.as_ref()?.to_string())).collect();
    // A Node whose server is not known cannot be asked for by it.
    if servers.len() < targets.len() || servers.len() > NAMED_AT_ONCE {
        return all_ports(network, project).await;
    }
    let query = PortQuery { device_ids: servers, ..PortQuery::default() };
    network.ports(&query).of(PAGE_SIZE).all().await
}

fn only(name: &str, mut groups: Vec<SecurityGroup>) -> Result<Option<SecurityGroup>, GroupError> {
    // Pages may show a group twice when the list changes between them.
    groups.sort_by(|one, other| one.id.cmp(&other.id));
    groups.dedup_by(|one, other| one.id == other.id);
    if groups.len() > 1 {
        let ids = groups.into_iter().map(|group| group.id).collect();
        return Err(GroupError::Several { name: name.to_owned(), ids });
    }
    Ok(groups.pop())
}

/// The group that was listed, or the one that was made or first seen a moment ago.
async fn or_made(
    network: &Network,
    listed: Option<SecurityGroup>,
    asked: Asked<'_>,
) -> Result<Option<SecurityGroup>, GroupError> {
    let (None, Some(id)) = (&listed, asked.made) else { return Ok(listed) };
    match network.security_group(id).await {
        Ok(group) => Ok(Some(group)),
        Err(error) if error.is_not_found() => {
            Err(GroupError::NotShown { name: asked.name.to_owned(), id: id.clone() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Neutron has the rules within the group. One that hides them there is asked for them: "not told" must not look like "none".
async fn with_rules(network: &Network, group: Option<SecurityGroup>) -> Result<Option<SecurityGroup>, Error> {
    let Some(mut group) = group else { return Ok(None) };
    if group.rules.is_none() {
        let query = SecurityGroupRuleQuery { security_group_id: Some(group.id.clone()) };
        group.rules = Some(network.security_group_rules(&query).of(PAGE_SIZE).all().await?);
    }
    Ok(Some(group))
}

/// The Service's part of what was read.
fn assemble(group: Option<SecurityGroup>, targets: &Targets, index: &Index<'_>) -> Observed {
    let owned: BTreeMap<_, _> =
        targets.nodes.iter().flat_map(|target| index.owned_by(target)).map(|port| (&port.id, port)).collect();
    let ports: Vec<Port> = owned.values().map(|port| (*port).clone()).collect();
    let found = group.map(|group| {
        let mut all = owned.clone();
        all.extend(index.having(&group.id).map(|port| (&port.id, port)));
        FoundGroup { group, ports: all.into_values().cloned().collect() }
    });
    Observed { found, ports }
}
