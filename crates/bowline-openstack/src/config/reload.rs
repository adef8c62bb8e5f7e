//! The configuration in use, and how it is replaced while we run: read, check, ask for whom the new credentials stand, swap.
//!
//! Credentials of another project, region or cloud are never taken (safety rail SR-3): everything that we made belongs to
//! the first one.
//! Whatever goes wrong, the old configuration stays in use and the reason is told; it is tried again on the next change and
//! from time to time. Who asks the cloud is handed in.

mod keystone;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use openstack_client::ProjectId;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

pub use self::keystone::project_of;
use super::connection::Configuration;
use super::source::{ConfigSource, LoadError};

/// The first pause before something that failed is tried again.
pub const FIRST_RETRY: Duration = Duration::from_secs(5);
/// The longest pause.
pub const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// How long reading and asking may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The shortest time between two changes that are acted on, whatever the source says.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Why nobody knows for which project credentials stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProject {
    /// The cloud does not accept them.
    #[error("{0}")]
    Denied(String),
    /// The cloud did not say.
    #[error("{0}")]
    Unsaid(String),
}

/// Asks a cloud for which project the credentials of a configuration stand.
#[async_trait]
pub trait ProjectOf: Send + Sync {
    /// The project; the error says why nobody knows.
    async fn project_of(&self, configuration: &Configuration) -> Result<ProjectId, NoProject>;
}

/// Why a new configuration is not in use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It cannot be used.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// Its credentials stand for another project.
    #[error(
        "the new credentials are for project {found}, those in use for {wanted}; a restart is needed to change the project"
    )]
    OtherProject {
        /// The project in use.
        wanted: ProjectId,
        /// The project of the new credentials.
        found: ProjectId,
    },
    /// It leads to another region or another cloud.
    #[error("the new {what} is {found:?}, the one in use {wanted:?}; a restart is needed to change it")]
    OtherPlace {
        /// What differs.
        what: &'static str,
        /// The one in use.
        wanted: String,
        /// The new one.
        found: String,
    },
    /// Nobody knows whether its credentials stand for the project in use.
    #[error("whether the new credentials are for the project in use is not known: {0}")]
    Unknown(String),
}

/// How things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadStatus {
    /// Counts the configurations that were in use; the first is 1.
    pub generation: u64,
    /// The same, without those that changed the credentials or the connection only.
    pub settings: u64,
    /// The project that everything belongs to, once it is known.
    pub project: Option<ProjectId>,
    /// Why what was last found is not in use.
    pub refused: Option<Refused>,
}

/// Keeps the configuration in use.
pub struct Reloader {
    source: Arc<dyn ConfigSource>,
    cloud: Arc<dyn ProjectOf>,
    current: ArcSwap<Configuration>,
    project: Mutex<Option<ProjectId>>,
    status: watch::Sender<ReloadStatus>,
}

impl Reloader {
    /// Reads the first configuration. The cloud is not asked: every replica reads one, leader or not.
    ///
    /// # Errors
    ///
    /// [`LoadError`], with all that is wrong.
    pub async fn start(source: Arc<dyn ConfigSource>, cloud: Arc<dyn ProjectOf>) -> Result<Self, LoadError> {
        let first = source.read().await?;
        tell_warnings(&first);
        let status = ReloadStatus { generation: 1, settings: 1, project: None, refused: None };
        Ok(Self {
            source,
            cloud,
            current: ArcSwap::from_pointee(first),
            project: Mutex::default(),
            status: watch::Sender::new(status),
        })
    }

    /// The configuration in use. Not to be kept: ask again for each piece of work.
    #[must_use]
    pub fn current(&self) -> Arc<Configuration> {
        self.current.load_full()
    }

    /// How things are.
    #[must_use]
    pub fn status(&self) -> ReloadStatus {
        self.status.borrow().clone()
    }

    /// Sees every change of how things are; a new generation is a new configuration.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<ReloadStatus> {
        self.status.subscribe()
    }

    /// Keeps in mind for which project the credentials in use stand; whoever authenticated first says so. Later words do
    /// not count.
    pub fn remember(&self, project: ProjectId) {
        let mut known = self.project.lock();
        let project = known.get_or_insert(project).clone();
        // Who is told of a change may say it again: what is known already is none.
        self.status.send_if_modified(|status| {
            let is_new = status.project.as_ref() != Some(&project);
            status.project = Some(project);
            is_new
        });
    }

    fn project(&self) -> Option<ProjectId> {
        self.project.lock().clone()
    }

    /// An item for each replacement that changes more than the credentials and the connection.
    pub fn new_settings(&self) -> BoxStream<'static, ()> {
        let changes = self.subscribe();
        let known = changes.borrow().settings;
        stream::unfold((changes, known), async |(mut changes, known)| {
            let settings = changes.wait_for(|status| status.settings != known).await.ok()?.settings;
            Some(((), (changes, settings)))
        })
        .boxed()
    }

    /// Replaces the configuration whenever its source changes. Does not end.
    pub async fn run(&self) {
        let mut pause = FIRST_RETRY;
        loop {
            let at_rest = self.project().is_some() && self.status.borrow().refused.is_none();
            tokio::select! {
                biased;
                () = self.source.changed() => {
                    pause = FIRST_RETRY;
                    self.reload().await;
                    sleep(SHORTEST_PAUSE).await;
                }
                () = sleep(pause), if !at_rest => {
                    pause = (pause * 2).min(LONGEST_RETRY);
                    self.try_again().await;
                }
            }
        }
    }

    /// What was not known or not possible before.
    async fn try_again(&self) {
        if self.project().is_none() {
            // What it could not learn it has told.
            drop(self.learn().await);
        }
        if self.status.borrow().refused.is_some() {
            self.reload().await;
        }
    }

    /// Asks for which project the credentials in use stand.
    async fn learn(&self) -> Result<(), NoProject> {
        let asked = ask(self.cloud.as_ref(), &self.current()).await;
        let project = asked.inspect_err(|why| {
            info!("for which project the credentials stand is not known yet: {why}");
        })?;
        self.remember(project);
        Ok(())
    }

    /// Reads, checks and swaps once; or keeps what is in use and says why.
    pub async fn reload(&self) {
        match self.replacement().await {
            Ok(None) => self.status.send_modify(|status| status.refused = None),
            Ok(Some((configuration, project))) => {
                tell_warnings(&configuration);
                let has_new_settings = !configuration.has_settings_of(&self.current());
                self.current.store(Arc::new(configuration));
                self.remember(project);
                self.status.send_modify(|status| {
                    status.generation += 1;
                    status.settings += u64::from(has_new_settings);
                    status.refused = None;
                });
                info!("the configuration was replaced");
            }
            Err(refused) => {
                let told = self.status.borrow().refused.as_ref() == Some(&refused);
                if !told {
                    warn!("the new configuration is not used, the old one stays: {refused}");
                    self.status.send_modify(|status| status.refused = Some(refused));
                }
            }
        }
    }

    /// A configuration to use from now on, and its project; none if what was read works as the one in use.
    async fn replacement(&self) -> Result<Option<(Configuration, ProjectId)>, Refused> {
        let read = timeout(PATIENCE, self.source.read());
        let configuration =
            read.await.unwrap_or_else(|_| Err(LoadError::Slow { seconds: PATIENCE.as_secs() }))?;
        if configuration.works_as(&self.current()) {
            return Ok(None);
        }
        // They stand for the same project, whoever can say for which: what has changed may be what it takes to ask.
        let same_credentials = configuration.credentials == self.current().credentials;
        if self.project().is_none() && !same_credentials {
            // The old credentials may have been in use without anybody having said so. If the cloud does not accept them,
            // nothing was made with them, and any project will do. If it says nothing, they may be as good as ever.
            if let Err(NoProject::Unsaid(why)) = self.learn().await {
                return Err(Refused::Unknown(format!(
                    "the cloud does not say for which one those in use are: {why}; restart to use the new ones all the same"
                )));
            }
        }
        let in_use = self.project();
        if in_use.is_some() || same_credentials {
            same_place(&self.current(), &configuration)?;
        }
        let found = ask(self.cloud.as_ref(), &configuration).await;
        let found = found.map_err(|why| Refused::Unknown(why.to_string()))?;
        match in_use {
            Some(wanted) if wanted != found => Err(Refused::OtherProject { wanted, found }),
            _ => Ok(Some((configuration, found))),
        }
    }
}

/// Whether both lead to the same region of the same cloud. Projects of different clouds may have the same id, and those of
/// different regions have.
fn same_place(in_use: &Configuration, new: &Configuration) -> Result<(), Refused> {
    let (old_cloud, new_cloud) = (in_use.credentials.auth_origin(), new.credentials.auth_origin());
    for (what, wanted, found) in [
        ("address of Keystone", old_cloud.as_str(), new_cloud.as_str()),
        ("region", in_use.connection.region.as_str(), new.connection.region.as_str()),
    ] {
        if wanted != found {
            let (wanted, found) = (wanted.to_owned(), found.to_owned());
            return Err(Refused::OtherPlace { what, wanted, found });
        }
    }
    Ok(())
}

async fn ask(cloud: &dyn ProjectOf, configuration: &Configuration) -> Result<ProjectId, NoProject> {
    let answer = timeout(PATIENCE, cloud.project_of(configuration)).await;
    answer.unwrap_or_else(|_| {
        Err(NoProject::Unsaid(format!("no answer within {} seconds", PATIENCE.as_secs())))
    })
}

fn tell_warnings(configuration: &Configuration) {
    for warning in &configuration.warnings {
        warn!("{warning}");
    }
}
