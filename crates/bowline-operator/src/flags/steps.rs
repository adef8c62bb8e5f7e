//! What a person does, step by step and by distribution, to change `--cloud-provider` of a component. Data only: the order
//! is the order to do it in, and one node is finished before the next is begun.

mod cluster_api;
mod embedded;
mod kubeadm;
mod talos;

use std::fmt;

use super::Component;

/// How a cluster was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// kubeadm.
    Kubeadm,
    /// k3s.
    K3s,
    /// RKE2.
    Rke2,
    /// Talos Linux.
    Talos,
    /// Cluster API with kubeadm inside, as its provider for OpenStack has it.
    ClusterApi,
}

impl Distribution {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Kubeadm, Self::K3s, Self::Rke2, Self::Talos, Self::ClusterApi];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubeadm => "kubeadm",
            Self::K3s => "k3s",
            Self::Rke2 => "RKE2",
            Self::Talos => "Talos",
            Self::ClusterApi => "Cluster API",
        }
    }
}

/// What is to be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// `--cloud-provider` gets this value.
    Set(String),
    /// `--cloud-provider` and `--cloud-config` go.
    Remove,
}

impl Change {
    /// The change that every migration needs.
    #[must_use]
    pub fn to_external() -> Self {
        Self::Set("external".to_owned())
    }
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// This is run.
    Command(String),
    /// This file or object has these lines afterwards.
    Edit {
        /// The file or object.
        target: String,
        /// What to change in it.
        change: String,
    },
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where it is done.
    pub place: &'static str,
    /// What is done.
    pub action: Action,
    /// Why.
    pub why: &'static str,
}

impl Step {
    fn run(place: &'static str, command: impl Into<String>, why: &'static str) -> Self {
        Self { place, action: Action::Command(command.into()), why }
    }

    fn edit(
        place: &'static str,
        target: impl Into<String>,
        change: impl Into<String>,
        why: &'static str,
    ) -> Self {
        Self { place, action: Action::Edit { target: target.into(), change: change.into() }, why }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Command(command) => write!(f, "{}, run:\n{}", self.place, indented(command))?,
            Action::Edit { target, change } => {
                write!(f, "{}, edit {target}:\n{}", self.place, indented(change))?;
            }
        }
        write!(f, "\n  Why: {}", self.why)
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// The steps to change `--cloud-provider` of a component of Kubernetes 1.`minor`.
#[must_use]
pub fn steps(distribution: Distribution, component: Component, change: &Change, minor: u32) -> Vec<Step> {
    match distribution {
        Distribution::Kubeadm => kubeadm::steps(component, change, minor),
        Distribution::K3s => embedded::steps(&embedded::K3S, component, change),
        Distribution::Rke2 => embedded::steps(&embedded::RKE2, component, change),
        Distribution::Talos => talos::steps(component, change),
        Distribution::ClusterApi => cluster_api::steps(component, change, minor),
    }
}

/// Steps as people read them, with numbers.
#[must_use]
pub fn render(steps: &[Step]) -> String {
    let numbered = steps.iter().zip(1_usize..).map(|(step, number)| format!("{number}. {step}\n"));
    numbered.collect::<Vec<_>>().join("\n")
}

/// `extraArgs` of kubeadm: a list of names and values from v1beta4 on, which 1.31 brought; a map before.
fn extra_args(value: &str, minor: u32, indent: &str) -> String {
    if minor >= 31 {
        format!("{indent}- name: cloud-provider\n{indent}  value: {value}")
    } else {
        format!("{indent}cloud-provider: {value}")
    }
}
