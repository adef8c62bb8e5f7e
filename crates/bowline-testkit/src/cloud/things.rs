//! Things in the cloud that annotations of Services can refer to.

use anyhow::Context;
use serde_json::{Value, json};
use sim_openstack::network::Subnet;
use sim_openstack::{ADMIN, MEMBER};

use super::Cloud;

/// What Services refer to.
#[derive(Clone, Debug)]
pub struct Things {
    /// The address of a floating IP that leads nowhere.
    pub floating_ip: String,
    /// That of another one.
    pub other_floating_ip: String,
    /// A port that belongs to nothing.
    pub port: String,
    /// A certificate.
    pub secret: String,
    /// A container with that certificate.
    pub container: String,
    /// A flavor of load balancers.
    pub flavor: String,
    /// An availability zone of load balancers.
    pub zone: String,
    /// The network of the servers.
    pub network: String,
    /// Another subnet of it, without a way out.
    pub inner_subnet: String,
    /// A subnet of IPv6, in a network of its own.
    pub subnet_of_ipv6: String,
    /// That network.
    pub network_of_ipv6: String,
    /// The external network, and a subnet of it with the tag [`EXTERNAL_TAG`].
    pub external: (String, String),
}

/// The tag of the external subnet.
pub const EXTERNAL_TAG: &str = "for-services";

impl Things {
    /// What stands for them where two namespaces are compared.
    #[must_use]
    pub fn words(&self) -> Vec<(String, String)> {
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

impl Cloud {
    /// Makes what the Services of a namespace refer to.
    ///
    /// # Errors
    /// When the cloud refuses something.
    pub async fn prepare(&self, namespace: &str) -> anyhow::Result<Things> {
        let network = |kind: &str, new: Value| self.post(MEMBER, &format!("/network/v2.0/{kind}"), &new);
        let lbaas =
            |kind: &str, new: Value| self.post(ADMIN, &format!("/load-balancer/v2.0/lbaas/{kind}"), &new);
        let keys = |kind: &str, new: Value| self.post(MEMBER, &format!("/key-manager/v1/{kind}"), &new);
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned).with_context(|| format!("{value}"));

        let new = json!({"floatingip": {"floating_network_id": self.estate.external_network}});
        let floating = network("floatingips", new.clone())?;
        let other_floating = network("floatingips", new)?;
        // The network gets more subnets below.
        let fixed = json!([{"subnet_id": self.estate.subnet}]);
        let new = json!({"port": {"network_id": self.estate.network, "name": namespace, "fixed_ips": fixed}});
        let port = network("ports", new)?;
        let new = json!({"name": namespace, "payload": "certificate", "payload_content_type": "text/plain"});
        let secret = keys("secrets", new)?;
        let new = json!({"flavorprofile": {
            "name": namespace, "provider_name": "amphora", "flavor_data": r#"{"loadbalancer_topology": "SINGLE"}"#,
        }});
        let profile = lbaas("flavorprofiles", new)?;
        let new = json!({"flavor": {"name": namespace, "flavor_profile_id": profile["flavorprofile"]["id"], "enabled": true}});
        let flavor = lbaas("flavors", new)?;
        let new = json!({"availability_zone_profile": {
            "name": namespace, "provider_name": "amphora", "availability_zone_data": r#"{"compute_zone": "nova"}"#,
        }});
        let profile = lbaas("availabilityzoneprofiles", new)?;
        let zone = format!("zone-{namespace}");
        let new = json!({"availability_zone": {
            "name": zone, "availability_zone_profile_id": profile["availability_zone_profile"]["id"], "enabled": true,
        }});
        lbaas("availabilityzones", new)?;
        let new = json!({"name": namespace, "type": "certificate", "secret_refs": [
            {"name": "certificate", "secret_ref": secret["secret_ref"]},
        ]});
        let container = keys("containers", new)?;
        let second = if namespace == "theirs" { 1 } else { 2 };
        let inner = json!({"subnet": {
            "network_id": self.estate.network, "ip_version": 4, "cidr": format!("10.20.{second}.0/24"),
        }});
        let inner = network("subnets", inner)?;
        let of_ipv6 = network("networks", json!({"network": {}}))?;
        let network_of_ipv6 = text(&of_ipv6["network"]["id"])?;
        let of_ipv6 = network(
            "subnets",
            json!({"subnet": {
                "network_id": network_of_ipv6, "ip_version": 6, "cidr": format!("fd00:2{second}::/64"),
            }}),
        )?;
        let external = (self.estate.external_network.clone(), self.estate.external_subnet.clone());
        self.world(|world| {
            let tag = |subnet: &mut Subnet| subnet.tags = vec![EXTERNAL_TAG.to_owned()];
            world.state.network.subnets.update(&external.1, tag)
        })
        .context("no external subnet")?;
        Ok(Things {
            container: text(&container["container_ref"])?,
            zone,
            network: self.estate.network.clone(),
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
}
