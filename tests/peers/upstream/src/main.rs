//! Our cloud-controller-manager over a cloud whose answers come from a state file: the counterpart of the Go program in
//! `tests/real-kubernetes/pins/upstream-ccm`, which reads the same file. It decides nothing; it must answer as that one does.

mod balancers;
mod machines;
mod routes;
mod state;

use std::process::ExitCode;
use std::sync::Arc;

use bowline_cloud::{
    AnyLoadBalancers, Capability, Cloud, CloudConfig, CloudError, Ensured, Instances, OneByOne, Routes,
};
use bowline_manager::CloudControllerManager;

use crate::balancers::Balancers;
use crate::machines::Machines;
use crate::routes::RouteTable;
use crate::state::{Files, Script};

/// The value of `--cloud-provider`, and the scheme of provider IDs.
const NAME: &str = "scripted";

struct ScriptedCloud {
    machines: Arc<Machines>,
    balancers: Arc<Ensured<Balancers>>,
    routes: Arc<RouteTable>,
}

impl ScriptedCloud {
    fn from_config(config: &CloudConfig) -> Result<Self, CloudError> {
        let text = config.text.as_deref().ok_or_else(|| CloudError::invalid("--cloud-config is needed"))?;
        let files: Files = serde_json::from_str(text)
            .map_err(|error| CloudError::invalid(format!("--cloud-config: {error}")))?;
        let script = Arc::new(Script::open(files)?);
        Ok(Self {
            machines: Arc::new(Machines::new(script.clone())),
            balancers: Arc::new(Ensured::new(Balancers::new(script.clone()))),
            routes: Arc::new(RouteTable::seeded(script)?),
        })
    }
}

impl Cloud for ScriptedCloud {
    fn name(&self) -> &str {
        NAME
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        Capability::Supported(Arc::new(OneByOne::new(self.machines.clone(), 8)))
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        Capability::Supported(self.balancers.clone())
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        Capability::Supported(self.routes.clone())
    }
}

fn main() -> ExitCode {
    CloudControllerManager::new("scripted-ccm", env!("CARGO_PKG_VERSION"))
        .cloud(NAME, |config| Ok(Arc::new(ScriptedCloud::from_config(config)?)))
        .run()
}
