//! The components that have flags of the cloud, and what a cluster is or is to be.

use std::fmt;
use std::str::FromStr;

/// A component of Kubernetes that has flags of the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// The agent of each node.
    Kubelet,
    /// The manager that had the cloud's controllers inside.
    ControllerManager,
    /// The API server.
    ApiServer,
}

impl Component {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kubelet, Self::ControllerManager, Self::ApiServer];

    /// The name of its program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::ControllerManager => "kube-controller-manager",
            Self::ApiServer => "kube-apiserver",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Component {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|component| component.name() == text);
        found.ok_or_else(|| {
            format!("no component is called {text:?}; wanted one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// Who runs the cloud's controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// kube-controller-manager and the kubelets, as it was of old.
    InTree,
    /// A cloud-controller-manager, in a cluster that ran otherwise before.
    External,
    /// A cloud-controller-manager, in a cluster that is made now.
    Fresh,
}
