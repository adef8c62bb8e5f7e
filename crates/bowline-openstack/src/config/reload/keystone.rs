//! Asks Keystone for which project credentials stand, by getting a token with them.

use async_trait::async_trait;
use openstack_client::{Client, ErrorClass, ProjectId, Transport};

use super::{NoProject, ProjectOf};
use crate::config::connection::Configuration;

/// The real cloud.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keystone;

#[async_trait]
impl ProjectOf for Keystone {
    async fn project_of(&self, configuration: &Configuration) -> Result<ProjectId, NoProject> {
        let options = configuration.connection.transport_options();
        let transport = Transport::https(&options).map_err(|error| NoProject::Unsaid(error.to_string()))?;
        project_over(transport, configuration).await
    }
}

/// Asks over this transport.
pub(super) async fn project_over(
    transport: Transport,
    configuration: &Configuration,
) -> Result<ProjectId, NoProject> {
    let client = Client::new(transport, configuration.settings());
    let identity = client.identity().await.map_err(|error| match error.class() {
        ErrorClass::Unauthenticated => NoProject::Denied(error.to_string()),
        _ => NoProject::Unsaid(error.to_string()),
    })?;
    identity
        .project_id
        .ok_or_else(|| NoProject::Unsaid("the token is not for a project; give a project".to_owned()))
}
