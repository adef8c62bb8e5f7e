//! What a `CloudControllerManager` may ask for, as an administrator said by the operator's flags. Pure.
//!
//! Whoever may edit a `CloudControllerManager` is not meant to have more rights by that than to run a manager: where its objects
//! are, which images its pods run and which Secrets they mount is limited to what is listed here.

#[cfg(test)]
mod tests;

use clap::Args;

use crate::api::CloudControllerManagerSpec;
use crate::openshift;
use crate::render::{Object, PREFIX, UPSTREAM_REPOSITORIES};

/// In a list, everything.
const ANY: &str = "*";
/// The Leases of the cloud-controller-managers that a migration replaces: the default of all, and those of k3s and RKE2. A Lease
/// that some other component holds is not among them: a manager that takes it stops that component.
const MANAGER_LEASES: [&str; 3] =
    ["cloud-controller-manager", "k3s-cloud-controller-manager", "rke2-cloud-controller-manager"];

/// The lists.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Allowed {
    /// Namespaces that a `CloudControllerManager` may name, for its objects and for its Lease; the operator has rights in these alone
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "kube-system")]
    pub allowed_namespaces: Vec<String>,
    /// Registries, or repositories in them, whose images managers may run besides the operator's own repository and those of the
    /// clouds' own managers; * is all
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',')]
    pub allowed_image_registries: Vec<String>,
    /// Secrets that a `CloudControllerManager` may name, in its namespace; * is all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["cloud-config", "cloud-credentials"])]
    pub allowed_secrets: Vec<String>,
    /// Leases that a `CloudControllerManager` may name besides those of cloud-controller-managers and bowline-ccm-*; * is all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub allowed_leases: Vec<String>,
}

impl Default for Allowed {
    /// As the flags' defaults.
    fn default() -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            allowed_namespaces: words(&["kube-system"]),
            allowed_image_registries: Vec::new(),
            allowed_secrets: words(&["cloud-config", "cloud-credentials"]),
            allowed_leases: Vec::new(),
        }
    }
}

/// What a resource asks for and may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// A name that stands for something else.
    #[error("the name {name} is reserved for the managers of OpenShift; give the resource another one")]
    Name {
        /// Which.
        name: String,
    },
    /// A namespace that is not listed.
    #[error(
        "{field}: the operator has no rights in namespace {namespace}, only in {}; use one of these, or have an administrator install the operator with it in --allowed-namespaces (bowline operator manifests)",
        allowed.join(", ")
    )]
    Namespace {
        /// The field of the resource.
        field: &'static str,
        /// What it says.
        namespace: String,
        /// What it might say.
        allowed: Vec<String>,
    },
    /// A Lease that is not listed: it may be that of another component, which a manager that holds it would stop.
    #[error(
        "spec.leaseName: Lease {name} may belong to another component; use the default, a name that begins with bowline-ccm-, or have an administrator list the Lease of the previous manager in the operator's --allowed-leases"
    )]
    Lease {
        /// Which.
        name: String,
    },
    /// An image of elsewhere.
    #[error(
        "image {image} is from no registry that the operator may use; use an image of the operator's own repository ({own}), or have an administrator list its registry or repository in --allowed-image-registries"
    )]
    Image {
        /// Which.
        image: String,
        /// The repository that is always allowed.
        own: String,
    },
    /// A Secret of something else.
    #[error(
        "{field}: Secret {name} is not among those that a CloudControllerManager may name ({}); use one of these names, or have an administrator list it in the operator's --allowed-secrets",
        allowed.join(", ")
    )]
    Secret {
        /// The field of the resource.
        field: &'static str,
        /// What it says.
        name: String,
        /// What it might say.
        allowed: Vec<String>,
    },
}

impl NotAllowed {
    /// In one word.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Name { .. } => "NameNotAllowed",
            Self::Namespace { .. } => "NamespaceNotAllowed",
            Self::Lease { .. } => "LeaseNotAllowed",
            Self::Image { .. } => "ImageNotAllowed",
            Self::Secret { .. } => "SecretNotAllowed",
        }
    }
}

impl Allowed {
    /// Checks what can be seen before anything is read or made.
    ///
    /// # Errors
    ///
    /// The first thing that is not allowed.
    pub fn check(&self, name: &str, spec: &CloudControllerManagerSpec) -> Result<(), NotAllowed> {
        if name == openshift::OWNER {
            return Err(NotAllowed::Name { name: name.to_owned() });
        }
        for (field, namespace) in
            [("spec.namespace", &spec.namespace), ("spec.leaseNamespace", &spec.lease_namespace)]
        {
            if !self.allowed_namespaces.contains(namespace) {
                let (namespace, allowed) = (namespace.clone(), self.allowed_namespaces.clone());
                return Err(NotAllowed::Namespace { field, namespace, allowed });
            }
        }
        if !self.may_hold(&spec.lease_name) {
            return Err(NotAllowed::Lease { name: spec.lease_name.clone() });
        }
        let config = spec.cloud_config.as_ref().and_then(|config| config.secret.as_ref());
        for (field, secret) in
            [("spec.cloudConfig.secret", config), ("spec.credentials", spec.credentials.as_ref())]
        {
            if let Some(secret) = secret.filter(|secret| !is_listed(&self.allowed_secrets, &secret.name)) {
                let (name, allowed) = (secret.name.clone(), self.allowed_secrets.clone());
                return Err(NotAllowed::Secret { field, name, allowed });
            }
        }
        Ok(())
    }

    fn may_hold(&self, lease: &str) -> bool {
        MANAGER_LEASES.contains(&lease) || lease.starts_with(PREFIX) || is_listed(&self.allowed_leases, lease)
    }

    /// Checks the images of all workloads. `own` is the operator's image.
    ///
    /// # Errors
    ///
    /// The first image that is not allowed.
    pub fn check_images(&self, objects: &[Object], own: Option<&str>) -> Result<(), NotAllowed> {
        let containers = objects.iter().flat_map(|object| {
            ["containers", "initContainers", "ephemeralContainers"].into_iter().flat_map(|list| {
                let place = format!("/spec/template/spec/{list}");
                object.body.pointer(&place).and_then(serde_json::Value::as_array).into_iter().flatten()
            })
        });
        for container in containers {
            let image = container.get("image").and_then(serde_json::Value::as_str).unwrap_or_default();
            if !self.may_run(image, own) {
                let own = own.and_then(repository).unwrap_or_else(|| "unknown".to_owned());
                return Err(NotAllowed::Image { image: image.to_owned(), own });
            }
        }
        Ok(())
    }

    fn may_run(&self, image: &str, own: Option<&str>) -> bool {
        if self.allowed_image_registries.iter().any(|entry| entry == ANY) {
            return true;
        }
        let Some(repository) = repository(image) else { return false };
        let is_within = |entry: &String| {
            let rest = repository.strip_prefix(entry.trim_end_matches('/'));
            !entry.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        own.and_then(self::repository).is_some_and(|own| own == repository)
            || UPSTREAM_REPOSITORIES.contains(&repository.as_str())
            || self.allowed_image_registries.iter().any(is_within)
    }
}

fn is_listed(list: &[String], name: &str) -> bool {
    list.iter().any(|entry| entry == ANY || entry == name)
}

/// The registry and repository of an image in full, as container runtimes read it; `None` for what is no image.
fn repository(image: &str) -> Option<String> {
    let name = image.split_once('@').map_or(image, |(name, _digest)| name);
    let path = name.rfind('/').map_or(0, |slash| slash + 1);
    let last = name.get(path..)?;
    let tag = last.find(':').map_or(name.len(), |colon| path + colon);
    let name = name.get(..tag)?;
    let is_part = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
        !part.is_empty() && part != "." && part != ".." && part.chars().all(is_plain)
    };
    if !name.split('/').all(is_part) {
        return None;
    }
    let has_registry =
        name.split_once('/').is_some_and(|(first, _)| first.contains(['.', ':']) || first == "localhost");
    Some(match (has_registry, name.contains('/')) {
        (true, _) => name.to_owned(),
        (false, true) => format!("docker.io/{name}"),
        (false, false) => format!("docker.io/library/{name}"),
    })
}
