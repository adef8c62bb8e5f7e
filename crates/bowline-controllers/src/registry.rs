//! The names of the controllers: one table, from which flags, leader migration, clients and metrics take theirs.

/// How a controller is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerName {
    /// The canonical name: in `--controllers`, in `/readyz`, in leader migration.
    pub canonical: String,
    /// The short name that `--controllers` accepts too, and that metrics use.
    pub alias: String,
    /// The name of its client, and of its ServiceAccount with `--use-service-account-credentials`.
    pub client: String,
    /// The component that its events name as their source.
    pub component: String,
}

impl ControllerName {
    /// A controller and its names.
    #[must_use]
    pub fn new(canonical: &str, alias: &str, client: &str, component: &str) -> Self {
        let [canonical, alias, client, component] = [canonical, alias, client, component].map(str::to_owned);
        Self { canonical, alias, client, component }
    }
}

impl ControllerName {
    /// The names of the controllers every cloud-controller-manager has, in the order of [`COMMON`].
    #[must_use]
    pub fn common() -> [Self; 5] {
        COMMON.map(|[canonical, alias, client, component]| Self::new(canonical, alias, client, component))
    }
}

/// The controllers every cloud-controller-manager has: canonical name, alias, client, component. The names are
/// upstream's, to the letter.
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

/// The same as a list.
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
