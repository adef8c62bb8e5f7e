//! The end of a resource: refused as long as Services would lose who looks after their load balancers, unless that is asked for.

use std::collections::BTreeSet;

use crate::api::{CloudControllerManagerSpec, DeletionPolicy};
use crate::migration::{NodeFacts, ServiceFacts};

/// Whether a manager may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It may not.
    Refused {
        /// How many Services there are.
        count: usize,
        /// Some of them.
        examples: Vec<String>,
    },
    /// It may.
    Allowed {
        /// How many load balancers stay in the cloud with nobody to look after them.
        orphans: usize,
        /// Nodes that wait for a manager.
        waiting: Vec<String>,
    },
}

/// How many names a message has.
const EXAMPLES: usize = 5;

/// Decides. Services of another class are somebody else's.
#[must_use]
pub fn removal(
    spec: &CloudControllerManagerSpec,
    services: &[ServiceFacts],
    nodes: &[NodeFacts],
) -> Removal {
    let ours: BTreeSet<String> =
        services.iter().filter(|service| service.class.is_none()).map(ServiceFacts::key).collect();
    if !ours.is_empty() && spec.deletion_policy == DeletionPolicy::Refuse {
        return Removal::Refused { count: ours.len(), examples: ours.into_iter().take(EXAMPLES).collect() };
    }
    let waiting = nodes.iter().filter(|node| node.uninitialized).map(|node| node.name.clone());
    Removal::Allowed { orphans: ours.len(), waiting: waiting.take(EXAMPLES).collect() }
}

impl Removal {
    /// What a person should know.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Refused { count, examples } => format!(
                "{count} LoadBalancer Services exist ({}): delete them, or set spec.deletionPolicy to Orphan so that their load balancers stay in the cloud with nobody to look after them",
                examples.join(", ")
            ),
            Self::Allowed { orphans, waiting } => {
                let mut texts = vec!["The manager is being removed".to_owned()];
                if *orphans > 0 {
                    texts.push(format!("{orphans} load balancers stay in the cloud, and nobody looks after them"));
                }
                if !waiting.is_empty() {
                    texts.push(format!(
                        "nodes wait for a manager with the taint {} ({}): install another one, or remove the taint and start their kubelets without --cloud-provider=external",
                        NodeFacts::TAINT,
                        waiting.join(", ")
                    ));
                }
                texts.join("; ")
            }
        }
    }
}
