//! What the manager is allowed to do at a stage of the migration, and which flags say so to it.

use crate::api::Manager;

/// What the manager is allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManagerMode {
    /// It looks and publishes what it would do. It is a Deployment of its own beside whatever runs, and takes no Lease.
    Shadow,
    /// It holds the Lease and writes nothing.
    Paused,
    /// It looks after load balancers that exist, and makes none.
    ServiceOnly,
    /// It does everything but nodes, which another writer still looks after.
    WithoutNodes,
    /// It does what the resource says.
    Full,
}

/// The controllers that write Nodes, under the names of today and the ones that old managers know, too.
const NODE_CONTROLLERS: [(&str, &str); 2] =
    [("cloud-node-controller", "cloud-node"), ("cloud-node-lifecycle-controller", "cloud-node-lifecycle")];

/// The controller of Services, the same way.
const SERVICE_CONTROLLER: (&str, &str) = ("service-lb-controller", "service");

impl ManagerMode {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Shadow, Self::Paused, Self::ServiceOnly, Self::WithoutNodes, Self::Full];

    /// The value of `--controllers`, given what the resource asks for. Managers of others are called by the old names: these are known
    /// to the old and, as aliases, to the new.
    pub(super) fn controllers(self, manager: Manager, asked: &[String]) -> String {
        let name = |(new, old): (&'static str, &'static str)| match manager {
            Manager::Bowline => new,
            Manager::Upstream => old,
        };
        match self {
            Self::ServiceOnly => name(SERVICE_CONTROLLER).to_owned(),
            Self::WithoutNodes => without(asked, &NODE_CONTROLLERS.map(name)),
            Self::Shadow | Self::Paused | Self::Full if asked.is_empty() => "*".to_owned(),
            Self::Shadow | Self::Paused | Self::Full => asked.join(","),
        }
    }

    /// The flags that nobody but Bowline knows.
    pub(super) fn own_flags(self, report: &str) -> Vec<String> {
        let reports = format!("--shadow-report={report}");
        match self {
            Self::Shadow => vec!["--shadow".to_owned(), reports],
            Self::Paused => vec!["--paused".to_owned()],
            // What is held back is reported, too.
            Self::ServiceOnly => vec!["--adopt-only".to_owned(), reports],
            Self::WithoutNodes | Self::Full => Vec::new(),
        }
    }
}

/// What is asked for, but for some controllers, whichever of their names was used.
fn without(asked: &[String], unwanted: &[&str]) -> String {
    let is_unwanted = |word: &str| {
        let bare = word.strip_prefix('-').unwrap_or(word);
        NODE_CONTROLLERS.iter().any(|(new, old)| bare == *new || bare == *old)
    };
    let mut kept: Vec<String> = asked.iter().filter(|word| !is_unwanted(word)).cloned().collect();
    if kept.is_empty() && asked.is_empty() {
        kept.push("*".to_owned());
    }
    kept.extend(unwanted.iter().map(|name| format!("-{name}")));
    kept.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controllers(mode: ManagerMode, manager: Manager, asked: &[&str]) -> String {
        mode.controllers(manager, &asked.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_mode_decides_which_controllers_run() {
        use Manager::{Bowline, Upstream};
        let all: &[&str] = &["*"];
        assert_eq!(controllers(ManagerMode::Full, Bowline, all), "*");
        assert_eq!(
            controllers(ManagerMode::Full, Bowline, &["*", "-node-route-controller"]),
            "*,-node-route-controller"
        );
        assert_eq!(controllers(ManagerMode::Full, Bowline, &[]), "*");
        assert_eq!(controllers(ManagerMode::ServiceOnly, Bowline, all), "service-lb-controller");
        assert_eq!(controllers(ManagerMode::ServiceOnly, Upstream, all), "service");
        assert_eq!(
            controllers(ManagerMode::WithoutNodes, Bowline, all),
            "*,-cloud-node-controller,-cloud-node-lifecycle-controller"
        );
        assert_eq!(
            controllers(ManagerMode::WithoutNodes, Upstream, &["*", "cloud-node-controller", "-cloud-node"]),
            "*,-cloud-node,-cloud-node-lifecycle",
            "whatever was asked for nodes is overruled"
        );
    }
}
