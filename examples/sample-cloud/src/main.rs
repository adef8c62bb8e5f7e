//! Your own cloud controller manager in three steps.
//!
//! The cloud here is a list of machines and addresses in a YAML file: just enough to see every part of the interface at
//! work. `docs/tutorials/your-own-ccm.md` walks through this file; `cargo xtask sample` runs it on a real API server.

mod balancers;
mod machines;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;

use bowline_cloud::{
    AnyLoadBalancers, Capability, Cloud, CloudConfig, CloudError, Ensured, ExtraController, Instances,
    OneByOne,
};
use bowline_manager::CloudControllerManager;
use serde::Deserialize;

use crate::balancers::AddressPool;
use crate::machines::{Machines, RackLabels};

/// The configuration file, and at the same time the whole cloud.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleConfig {
    region: String,
    machines: BTreeMap<String, Machine>,
    #[serde(default)]
    balancer_addresses: Vec<IpAddr>,
}

/// One machine of the sample cloud.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    kind: String,
    zone: String,
    rack: String,
    address: IpAddr,
    #[serde(default)]
    off: bool,
}

/// The cloud: its machines (step 1, `machines.rs`) and its load balancers (step 2, `balancers.rs`).
struct SampleCloud {
    machines: Arc<Machines>,
    balancers: Arc<Ensured<AddressPool>>,
}

impl SampleCloud {
    fn from_config(config: &CloudConfig) -> Result<Self, CloudError> {
        let text = config.text.as_deref().ok_or_else(|| {
            CloudError::invalid(
                "the sample cloud needs --cloud-config with a list of machines; see examples/sample-cloud/cloud.yaml",
            )
        })?;
        // Without a snippet: in a real cloud's configuration, the line that is wrong may hold a password.
        let options = serde_saphyr::options! { with_snippet: false };
        let config: SampleConfig = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            CloudError::invalid(format!("the sample cloud's configuration is not valid: {error}"))
        })?;
        Ok(Self {
            balancers: Arc::new(Ensured::new(AddressPool::new(config.balancer_addresses.clone()))),
            machines: Arc::new(Machines::new(config)),
        })
    }
}

/// Step 3: hand out the parts. What a cloud does not have, it leaves out.
impl Cloud for SampleCloud {
    fn name(&self) -> &str {
        "sample"
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        // This cloud answers for one machine at a time; the adapter asks for up to eight at once.
        Capability::Supported(Arc::new(OneByOne::new(self.machines.clone(), 8)))
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        Capability::Supported(self.balancers.clone())
    }

    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        vec![Arc::new(RackLabels::new(self.machines.clone()))]
    }
}

/// One function makes it a cloud-controller-manager, with every flag, leader election, serving and metrics.
fn main() -> ExitCode {
    CloudControllerManager::new("sample-cloud-controller-manager", env!("CARGO_PKG_VERSION"))
        .cloud("sample", |config| Ok(Arc::new(SampleCloud::from_config(config)?)))
        .node_ipam()
        .run()
}
