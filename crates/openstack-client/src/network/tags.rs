//! Tags of Neutron's objects: filters and changes.

use super::Network;
use crate::{
    Error, FloatingIpId, NetworkId, PortId, RouterId, SecurityGroupId, Service, SubnetId, TrunkId,
    call::{Below, Call},
};

/// A filter by tags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagFilter {
    /// Objects with all of these tags.
    pub all: Vec<String>,
    /// Objects with at least one of these tags.
    pub any: Vec<String>,
    /// Objects that lack at least one of these tags.
    pub not_all: Vec<String>,
    /// Objects with none of these tags.
    pub not_any: Vec<String>,
}

impl TagFilter {
    /// Objects that have this tag.
    #[must_use]
    pub fn with(tag: impl Into<String>) -> Self {
        Self { all: vec![tag.into()], ..Self::default() }
    }

    pub(crate) fn apply(&self, call: Call) -> Call {
        let joined = |tags: &[String]| (!tags.is_empty()).then(|| tags.join(","));
        call.with_some("tags", joined(&self.all))
            .with_some("tags-any", joined(&self.any))
            .with_some("not-tags", joined(&self.not_all))
            .with_some("not-tags-any", joined(&self.not_any))
    }
}

/// An object that can have tags.
#[derive(Debug, Clone, Copy)]
pub enum Tagged<'a> {
    /// A network.
    Network(&'a NetworkId),
    /// A subnet.
    Subnet(&'a SubnetId),
    /// A port.
    Port(&'a PortId),
    /// A router.
    Router(&'a RouterId),
    /// A floating IP.
    FloatingIp(&'a FloatingIpId),
    /// A security group.
    SecurityGroup(&'a SecurityGroupId),
    /// A trunk.
    Trunk(&'a TrunkId),
}

impl<'a> Tagged<'a> {
    fn path(self) -> (&'static str, &'a str) {
        match self {
            Self::Network(id) => ("networks", id.as_str()),
            Self::Subnet(id) => ("subnets", id.as_str()),
            Self::Port(id) => ("ports", id.as_str()),
            Self::Router(id) => ("routers", id.as_str()),
            Self::FloatingIp(id) => ("floatingips", id.as_str()),
            Self::SecurityGroup(id) => ("security-groups", id.as_str()),
            Self::Trunk(id) => ("trunks", id.as_str()),
        }
    }

    /// The metrics label of a tag removal. Ports have had their own label already.
    fn removal(self) -> &'static str {
        if matches!(self, Self::Port(_)) { "port_tag_delete" } else { "tag_delete" }
    }
}

impl Network {
    /// The tags of an object.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn tags(&self, of: Tagged<'_>) -> Result<Vec<String>, Error> {
        let (collection, id) = of.path();
        self.0.fetch(Self::get("tag_list", &[collection, id, "tags"]), "tags").await
    }

    /// Replaces the tags of an object.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn replace_tags(&self, of: Tagged<'_>, tags: &[String]) -> Result<Vec<String>, Error> {
        let (collection, id) = of.path();
        let body = Below("tags", tags);
        let call = Call::put(Service::Network, "tag_replace", &[collection, id, "tags"], &body)?;
        self.0.fetch(call, "tags").await
    }

    /// Adds a tag to an object.
    ///
    /// # Errors
    ///
    /// [`Error`]; an empty tag, `.` and `..` are rejected here, because their path would address another resource, such as all tags.
    pub async fn add_tag(&self, of: Tagged<'_>, tag: &str) -> Result<(), Error> {
        let (collection, id) = of.path();
        let path = [collection, id, "tags", not_empty(tag)?];
        self.0.done(Call::put_nothing(Service::Network, "tag_add", &path)).await
    }

    /// Removes a tag from an object.
    ///
    /// # Errors
    ///
    /// [`Error`]; an empty tag, `.` and `..` are rejected here, because their path would address another resource, such as all tags.
    pub async fn remove_tag(&self, of: Tagged<'_>, tag: &str) -> Result<(), Error> {
        let (collection, id) = of.path();
        self.0.done(Self::delete(of.removal(), &[collection, id, "tags", not_empty(tag)?])).await
    }
}

fn not_empty(tag: &str) -> Result<&str, Error> {
    if tag.is_empty() || tag == "." || tag == ".." {
        return Err(Error::invalid(format!("{tag:?} is not a tag")));
    }
    Ok(tag)
}
