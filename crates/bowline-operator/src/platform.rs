//! Platforms: their names in OpenShift and elsewhere, how the nodes' provider IDs tell them, and whether their cloud
//! controllers run outside of kube-controller-manager. Knows no configuration.

mod detect;
mod external;
mod kind;

#[cfg(test)]
mod tests;

pub use self::detect::{Detection, detect, scheme};
pub use self::external::{
    ExternalError, GATE, InTree, Rule, in_tree, is_external, is_external_at, is_stack_hub, rule,
};
pub use self::kind::{Platform, UnknownPlatform};
