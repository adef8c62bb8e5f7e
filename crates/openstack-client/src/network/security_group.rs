//! Security groups and their rules.

use serde::{Deserialize, Serialize};

use super::{Network, TagFilter};
use crate::{
    Error, Pages, ProjectId, SecurityGroupId, SecurityGroupRuleId, Service, call::Call, decode,
    paging::Listed, vocabulary::words,
};

words! {
    /// The direction of traffic.
    Direction {
        /// To the port.
        Ingress = "ingress",
        /// From the port.
        Egress = "egress",
    }
}

words! {
    /// The address family.
    EtherType {
        /// IPv4.
        Ipv4 = "IPv4",
        /// IPv6.
        Ipv6 = "IPv6",
    }
}

/// A security group.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SecurityGroup {
    /// Its id.
    pub id: SecurityGroupId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Its description.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// The project that owns it.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// Its rules. `None` if the answer omits the field, which differs from an empty list.
    #[serde(rename = "security_group_rules", default)]
    pub rules: Option<Vec<SecurityGroupRule>>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
}

impl Listed for SecurityGroup {
    const COLLECTION: &'static str = "security_groups";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A rule of a security group.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SecurityGroupRule {
    /// Its id.
    pub id: SecurityGroupRuleId,
    /// Its group.
    pub security_group_id: SecurityGroupId,
    /// The direction of traffic.
    pub direction: Direction,
    /// The address family.
    #[serde(default)]
    pub ethertype: EtherType,
    /// The protocol, by name or number; `None` means any.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub protocol: Option<String>,
    /// The lowest port of the range; `None` means any.
    #[serde(default)]
    pub port_range_min: Option<u16>,
    /// The highest port of the range; `None` means any.
    #[serde(default)]
    pub port_range_max: Option<u16>,
    /// The CIDR of the remote side; `None` means no restriction by address.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub remote_ip_prefix: Option<String>,
    /// The security group of the remote side.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub remote_group_id: Option<SecurityGroupId>,
    /// The address group of the remote side.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub remote_address_group_id: Option<String>,
    /// Its description.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
}

impl Listed for SecurityGroupRule {
    const COLLECTION: &'static str = "security_group_rules";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Filters for a list of security groups.
#[derive(Debug, Clone, Default)]
pub struct SecurityGroupQuery {
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. Without it, an administrator sees the objects of all projects.
    pub project_id: Option<ProjectId>,
    /// With matching tags.
    pub tags: TagFilter,
}

impl SecurityGroupQuery {
    /// The security groups with this name.
    #[must_use]
    pub fn by_name(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }
}

/// Filters for a list of rules.
#[derive(Debug, Clone, Default)]
pub struct SecurityGroupRuleQuery {
    /// Of this group.
    pub security_group_id: Option<SecurityGroupId>,
}

/// A new security group.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SecurityGroupCreate {
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A new rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NewSecurityGroupRule {
    /// Its group.
    pub security_group_id: SecurityGroupId,
    /// The direction of traffic.
    pub direction: Direction,
    /// The address family.
    pub ethertype: EtherType,
    /// The protocol; `None` means any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The lowest port of the range; `None` means any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_range_min: Option<u16>,
    /// The highest port of the range; `None` means any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_range_max: Option<u16>,
    /// The CIDR of the remote side; `None` means no restriction by address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_ip_prefix: Option<String>,
    /// The security group of the remote side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_group_id: Option<SecurityGroupId>,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

#[derive(Serialize)]
struct OneGroup<'a> {
    security_group: &'a SecurityGroupCreate,
}

#[derive(Serialize)]
struct OneRule<'a> {
    security_group_rule: &'a NewSecurityGroupRule,
}

#[derive(Serialize)]
struct ManyRules<'a> {
    security_group_rules: &'a [NewSecurityGroupRule],
}

impl Network {
    /// A security group.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn security_group(&self, id: &SecurityGroupId) -> Result<SecurityGroup, Error> {
        self.0
            .fetch(Self::get("security_group_get", &["security-groups", id.as_str()]), "security_group")
            .await
    }

    /// The security groups that match the query.
    pub fn security_groups(&self, query: &SecurityGroupQuery) -> Pages<SecurityGroup> {
        let call = Self::get("security_group_list", &["security-groups"])
            .with_some("name", query.name.as_ref())
            .with_some("project_id", query.project_id.as_ref());
        self.0.pages(query.tags.apply(call))
    }

    /// Creates a security group.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_security_group(&self, group: &SecurityGroupCreate) -> Result<SecurityGroup, Error> {
        let body = OneGroup { security_group: group };
        let call = Call::post(Service::Network, "security_group_create", &["security-groups"], &body)?;
        self.0.fetch(call, "security_group").await
    }

    /// Deletes a security group.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict` while ports use it.
    pub async fn delete_security_group(&self, id: &SecurityGroupId) -> Result<(), Error> {
        self.0.done(Self::delete("security_group_delete", &["security-groups", id.as_str()])).await
    }

    /// The rules that match the query.
    pub fn security_group_rules(&self, query: &SecurityGroupRuleQuery) -> Pages<SecurityGroupRule> {
        let call = Self::get("security_group_rule_list", &["security-group-rules"]);
        self.0.pages(call.with_some("security_group_id", query.security_group_id.as_ref()))
    }

    /// Creates a rule.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict`, fault `SecurityGroupRuleExists`, if an equal rule exists.
    pub async fn create_security_group_rule(
        &self,
        rule: &NewSecurityGroupRule,
    ) -> Result<SecurityGroupRule, Error> {
        let body = OneRule { security_group_rule: rule };
        let call =
            Call::post(Service::Network, "security_group_rule_create", &["security-group-rules"], &body)?;
        self.0.fetch(call, "security_group_rule").await
    }

    /// Creates several rules in one call. Neutron creates all of them or none.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_security_group_rules(
        &self,
        rules: &[NewSecurityGroupRule],
    ) -> Result<Vec<SecurityGroupRule>, Error> {
        let body = ManyRules { security_group_rules: rules };
        let call =
            Call::post(Service::Network, "security_group_rule_create", &["security-group-rules"], &body)?;
        self.0.fetch(call, "security_group_rules").await
    }

    /// Deletes a rule.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn delete_security_group_rule(&self, id: &SecurityGroupRuleId) -> Result<(), Error> {
        self.0.done(Self::delete("security_group_rule_delete", &["security-group-rules", id.as_str()])).await
    }
}
