//! Reaches cluster and cloud for a command. What they hold is read in [`crate::sight`].

pub mod cloud;
pub mod cluster;
mod consent;
pub mod managers;
pub(crate) mod refusal;

use std::path::PathBuf;
use std::sync::Arc;

use bowline_controllers::rails::node_filter::NodeFilter;
use jiff::Timestamp;

pub use self::cloud::CloudAccess;
pub use self::cluster::Cluster;
pub use self::consent::Consent;
use self::managers::Manager;
use crate::ending::Ending;

/// How a command reaches cluster and cloud.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Access")]
pub struct Access {
    /// The kubeconfig; without it KUBECONFIG, or the one at home
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Another context of it than the current one
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The cloud.conf of the manager; without it --os-cloud or the OS_* variables, or else what the manager in the cluster reads
    #[arg(long, value_name = "FILE")]
    pub cloud_config: Option<PathBuf>,
    /// Send requests to the cloud that the manager's cloud.conf in the cluster names, without asking at the terminal
    #[arg(long)]
    pub trust_cloud_host: bool,
    /// An entry of clouds.yaml; also OS_CLOUD
    #[arg(long, value_name = "NAME")]
    pub os_cloud: Option<String>,
    /// The --cluster-name of the manager; without it what the manager in the cluster was given, or kubernetes
    #[arg(long, value_name = "NAME")]
    pub cluster_name: Option<String>,
    /// The namespace of the manager and its Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    pub manager_namespace: String,
    /// The name of its Lease
    #[arg(long, value_name = "NAME", default_value = "cloud-controller-manager")]
    pub lease: String,
}

/// The cluster, its managers, and what the cluster is called in the cloud.
pub struct Session {
    /// The cluster.
    pub cluster: Cluster,
    /// The managers that run there.
    pub managers: Vec<Manager>,
    /// `--cluster-name`.
    pub cluster_name: Arc<str>,
    /// `--node-filter`: which Nodes the manager handles.
    pub node_filter: NodeFilter,
    /// The UID of the cluster, if it may be read.
    pub cluster_uid: Option<String>,
    /// What a person should know of how this came to be known.
    pub notes: Vec<String>,
    /// The flags.
    pub access: Access,
    /// When the command began.
    pub now: Timestamp,
    /// What the person said of the cloud that the cluster names.
    pub consent: Consent,
}

impl Session {
    /// Reaches the cluster.
    ///
    /// # Errors
    ///
    /// [`Ending`] if there is no cluster to reach.
    pub async fn open(access: &Access) -> Result<Self, Ending> {
        let cluster = Cluster::connect(access)?;
        let mut notes = Vec::new();
        let pods = cluster.pods(&access.manager_namespace).await;
        let managers = match &pods {
            Ok(pods) => managers::find(pods),
            Err(why) => {
                notes.push(format!("which managers run is not known: {why}"));
                Vec::new()
            }
        };
        let cluster_uid = match cluster.uid().await {
            Ok(uid) => uid,
            Err(why) => {
                return Err(Ending::not_looked(format!(
                    "the cluster at {} cannot be read: {}",
                    cluster.server,
                    refusal::said(&why)
                )));
            }
        };
        let cluster_name = cluster_name(access, &managers, &mut notes);
        let node_filter = node_filter(&managers, &mut notes);
        let access = access.clone();
        Ok(Self {
            cluster,
            managers,
            cluster_name,
            node_filter,
            cluster_uid,
            notes,
            access,
            now: Timestamp::now(),
            consent: Consent::default(),
        })
    }

    /// Reaches the cloud.
    ///
    /// # Errors
    ///
    /// [`Ending`] if there is no configuration of it, or the cloud does not let us in.
    pub async fn cloud(&self) -> Result<CloudAccess, Ending> {
        CloudAccess::connect(self).await
    }
}

fn cluster_name(access: &Access, managers: &[Manager], notes: &mut Vec<String>) -> Arc<str> {
    let told = managers.iter().find_map(|manager| manager.flags.get("cluster-name"));
    match (&access.cluster_name, told) {
        (Some(name), _) => name.as_str().into(),
        (None, Some(name)) => name.as_str().into(),
        (None, None) => {
            if managers.is_empty() {
                notes.push("no manager was found that tells its --cluster-name: taken for kubernetes".into());
            }
            "kubernetes".into()
        }
    }
}

/// The filter of the first manager that has one. A value that is no selector selects every Node, and a note says so.
fn node_filter(managers: &[Manager], notes: &mut Vec<String>) -> NodeFilter {
    let Some(text) = managers.iter().find_map(|manager| manager.flags.get("node-filter")) else {
        return NodeFilter::default();
    };
    NodeFilter::parse(text).unwrap_or_else(|problems| {
        let why: Vec<String> = problems.iter().map(ToString::to_string).collect();
        notes.push(format!(
            "the manager's --node-filter {text:?} cannot be read ({}): every Node is taken for one that it handles",
            why.join("; ")
        ));
        NodeFilter::default()
    })
}
