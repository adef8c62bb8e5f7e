//! The manager under test: the common controllers over the scripted cloud, whose address is the `--cloud-config` file.

mod balancers;
mod client;
mod desire;
mod machines;
mod routes;

use std::process::ExitCode;
use std::sync::Arc;

use bowline_cloud::{
    AnyLoadBalancers, Capability, Cloud, CloudConfig, CloudContext, CloudError, Instances, Routes,
    async_trait,
};
use bowline_manager::CloudControllerManager;
use real_kubernetes_tests::framework::protocol::NAME;

use crate::balancers::Balancers;
use crate::client::Client;
use crate::machines::Machines;
use crate::routes::CloudRoutes;

struct ScriptedCloud {
    client: Arc<Client>,
}

impl ScriptedCloud {
    fn from_config(config: &CloudConfig) -> Result<Self, CloudError> {
        let url = config.text.as_deref().unwrap_or_default().trim();
        let url = url.parse().map_err(|error| {
            CloudError::invalid(format!(
                "--cloud-config must hold the URL of the scripted cloud, not {url:?}: {error}"
            ))
        })?;
        Ok(Self { client: Arc::new(Client::new(url)) })
    }
}

#[async_trait]
impl Cloud for ScriptedCloud {
    fn name(&self) -> &str {
        NAME
    }

    async fn initialize(&self, context: &CloudContext) -> Result<(), CloudError> {
        self.client.work_with(context);
        Ok(())
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        Capability::Supported(Arc::new(Machines::new(self.client.clone())))
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        Capability::Supported(Arc::new(Balancers::new(self.client.clone())))
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        Capability::Supported(Arc::new(CloudRoutes::new(self.client.clone())))
    }
}

fn main() -> ExitCode {
    CloudControllerManager::new("framework-ccm", env!("CARGO_PKG_VERSION"))
        .cloud(NAME, |config| Ok(Arc::new(ScriptedCloud::from_config(config)?)))
        .node_ipam()
        .run()
}
