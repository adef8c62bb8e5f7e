//! The names of the controllers, in one table for flags, leader migration, clients and metrics.

/// The names of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerName {
    /// The canonical name: in `--controllers`, in `/readyz`, in leader migration.
    pub canonical: String,
    /// The short name, which `--controllers` accepts too, and which metrics use.
    pub alias: String,
    /// The name of its Kubernetes client, and of its ServiceAccount with `--use-service-account-credentials`.
    pub client: String,
    /// The source component of its events.
    pub component: String,
}

impl ControllerName {
    /// A controller name from its four parts.
    #[must_use]
    pub fn new(canonical: &str, alias: &str, client: &str, component: &str) -> Self {
        let [canonical, alias, client, component] = [canonical, alias, client, component].map(str::to_owned);
        Self { canonical, alias, client, component }
    }
}

impl ControllerName {
    /// The controllers that every cloud-controller-manager has, in the order of [`COMMON`].
    #[must_use]
    pub fn common() -> [Self; 5] {
        COMMON.map(|[canonical, alias, client, component]| Self::new(canonical, alias, client, component))
    }
}

/// The controllers that every cloud-controller-manager has: canonical name, alias, client, component. The names are exactly upstream's.
pub const COMMON: [[&str; 4]; 5] = [
    ["cloud-node-controller", "cloud-node", "node-controller", "cloud-node-controller"],
    [
        "cloud-node-lifecycle-controller",
        "cloud-node-lifecycle",
        "node-controller",
        "cloud-node-lifecycle-controller",
    ],
    ["service-lb-controller", "service", "service-controller", "service-controller"],
    ["node-route-controller", "route", "route-controller", "route_controller"],
    ["node-ipam-controller", "nodeipam", "node-controller", "cidrAllocator"],
];

/// The same as a `Vec`.
#[must_use]
pub fn common_names() -> Vec<ControllerName> {
    ControllerName::common().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_names_are_words_joined_by_dashes_that_end_in_controller() {
        for name in ControllerName::common() {
            let words = name.canonical.split('-').all(|word| word.chars().all(|c| c.is_ascii_lowercase()));
            assert!(words && name.canonical.ends_with("-controller"), "{}", name.canonical);
        }
    }
}
