//! Makes the clients of a process: whatever the configuration, they share one budget, one set of metrics and one name.

use std::sync::Arc;

use bowline_cloud::async_trait;
use openstack_client::{ApiMetrics, Client, ProjectId, Transport, TransportError, WallClock};

use super::budget::SharedBudget;
use super::journal::SharedJournal;
use crate::config::{Configuration, Connection, NoProject, ProjectOf, project_of};

/// Makes the way to a cloud.
pub type Connect = Arc<dyn Fn(&Connection) -> Result<Transport, TransportError> + Send + Sync>;

/// Over HTTP and HTTPS, as the configuration says.
#[must_use]
pub fn over_the_network() -> Connect {
    Arc::new(|connection| Transport::https(&connection.transport_options()))
}

/// Makes clients.
pub(super) struct Clients {
    pub(super) connect: Connect,
    pub(super) user_agent: String,
    pub(super) metrics: ApiMetrics,
    pub(super) budget: Arc<SharedBudget>,
    pub(super) journal: Arc<SharedJournal>,
    pub(super) clock: Option<WallClock>,
}

impl Clients {
    /// A client of this configuration. It authenticates with its first call.
    pub(super) fn client(&self, configuration: &Configuration) -> Result<Client, TransportError> {
        let transport = (self.connect)(&configuration.connection)?;
        let settings = configuration
            .settings()
            .user_agent(self.user_agent.clone())
            .metrics(self.metrics.clone())
            .budget(self.budget.clone())
            .witness(self.journal.clone());
        let settings = match &self.clock {
            Some(clock) => settings.clock(clock.clone()),
            None => settings,
        };
        Ok(Client::new(transport, settings))
    }
}

#[async_trait]
impl ProjectOf for Clients {
    async fn project_of(&self, configuration: &Configuration) -> Result<ProjectId, NoProject> {
        let client = self.client(configuration).map_err(|error| NoProject::Unsaid(error.to_string()))?;
        project_of(&client).await
    }
}
