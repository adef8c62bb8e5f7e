//! Whatever a text is, it is read or refused: nothing panics, and what was made of it is made again of the result.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::feature_gates::FeatureGates;
use crate::infrastructure::{ClusterNetwork, PlatformStatus, VSphereSpec};
use crate::platform::Platform;

/// Pieces of which all four forms are made, and of which most do not fit.
const PIECES: [&str; 40] = [
    "\n",
    "\n",
    "\n",
    "\r\n",
    " ",
    "\t",
    "=",
    " = ",
    ":",
    ": ",
    "- ",
    "  ",
    ",",
    "\"",
    "\\",
    "#",
    ";",
    "[",
    "]",
    "{",
    "}",
    "[Global]\n",
    "[LoadBalancer]\n",
    "[ServiceOverride \"1\"]\n",
    "[VirtualCenter \"a\"]\n",
    "[Nodes]\n",
    "global:\n",
    "vcenter:\n",
    "region",
    "port",
    "true",
    "443",
    "server",
    "datacenters",
    "\"cloud\"",
    "AzurePublicCloud",
    "vmType",
    "NodeIPFamilies",
    "é",
    "\u{2028}",
];

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

type Transformation = Box<dyn Fn(&str) -> Result<Transformed, ConfigError>>;

fn transformations() -> [(&'static str, Transformation); 5] {
    let status = |value| serde_json::from_value::<PlatformStatus>(value).unwrap();
    let azure = status(json!({ "type": "Azure" }));
    let hub = status(json!({ "type": "Azure", "azure": { "cloudName": "AzureStackCloud" } }));
    let vsphere = status(json!({ "type": "VSphere", "vsphere": { "ingressIPs": ["10.0.0.1"] } }));
    let spec: VSphereSpec = serde_json::from_value(json!({
        "vcenters": [{ "server": "a", "datacenters": ["x"] }],
        "failureDomains": [{ "server": "a", "topology": { "datacenter": "y" } }, { "server": "b", "topology": { "datacenter": "z" } }],
    }))
    .unwrap();
    let network = ClusterNetwork { service_network: vec!["fd00::/112".to_owned()] };
    let options = OpenStackOptions::default();
    [
        ("OpenStack", Box::new(move |text| transform_openstack(text, &Platform::OpenStack, &options))),
        (
            "AWS",
            Box::new(|text| transform_aws(text, &FeatureGates::on(["AWSServiceLBNetworkSecurityGroup"]))),
        ),
        ("Azure", Box::new(move |text| transform_azure(text, &azure))),
        ("Azure Stack Hub", Box::new(move |text| transform_azure_stack_hub(text, &hub))),
        ("vSphere", Box::new(move |text| transform_vsphere(text, &vsphere, Some(&spec), &network))),
    ]
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_and_a_result_stays_as_it_is(text in texts()) {
        for (name, transform) in transformations() {
            match transform(&text) {
                Ok(once) => {
                    let twice = transform(&once.text);
                    prop_assert!(twice.is_ok(), "{}: {:?} became {:?}: {:?}", name, text, once.text.as_str(), twice);
                    let twice = twice.unwrap();
                    prop_assert_eq!(&*twice.text, &*once.text, "{} of {:?}", name, text);
                    prop_assert!(twice.changes.is_empty(), "{} of {:?}: {:?}", name, text, twice.changes);
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
