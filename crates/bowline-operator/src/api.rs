//! `CloudControllerManager`: what a person asks the operator for (`spec`), and what it answers (`status`).
//!
//! Types only. The definition that is applied to clusters is generated from them (`cargo xtask gen`), and what can be refused by
//! the API server is refused there: an object that is stored is at least well-formed.

mod spec;
mod status;

pub(crate) use self::spec::default_namespace;
pub use self::spec::{
    Approval, CloudConfig, CloudControllerManager, CloudControllerManagerSpec, DeletionPolicy, Form,
    KeyOfObject, Manager, MigrationSpec, PlatformName, ProxySpec, TlsSpec, Urgency,
};
pub use self::status::{
    AdminStep, CloudControllerManagerStatus, Evidence, MigrationKind, MigrationStatus, Phase, PhaseChange,
    Snapshot,
};

/// The group of our resources.
pub const GROUP: &str = "bowline.dev";
/// Who the operator is in `managedFields`.
pub const FIELD_MANAGER: &str = "bowline-operator";
/// The label of everything that the operator made; its value is the name of the resource that asked for it.
pub const OWNER_LABEL: &str = "bowline.dev/managed-by";
/// Keeps the resource until what it asked for is gone, or was given up.
pub const FINALIZER: &str = "bowline.dev/operator";
