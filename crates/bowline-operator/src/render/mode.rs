//! Which controllers and flags say to a manager what it may do in its mode.

use crate::api::Manager;

pub use crate::migration::ManagerMode;

/// A controller's name of today, and the one that old managers know, too.
type Names = (&'static str, &'static str);

/// The controllers that write Nodes, in both names.
const NODE_CONTROLLERS: [Names; 2] = [("cloud-node-controller", "cloud-node"), LIFECYCLE_CONTROLLER];

/// The one of them that deletes Nodes.
const LIFECYCLE_CONTROLLER: Names = ("cloud-node-lifecycle-controller", "cloud-node-lifecycle");

/// The controller of Services, the same way.
const SERVICE_CONTROLLER: Names = ("service-lb-controller", "service");

impl ManagerMode {
    /// The value of `--controllers`, given what the resource asks for. Managers of others are called by the old names: these are known
    /// to the old and, as aliases, to the new.
    pub(super) fn controllers(self, manager: Manager, asked: &[String]) -> String {
        let name = |(new, old): Names| match manager {
            Manager::Bowline => new,
            Manager::Upstream => old,
        };
        match self {
            Self::ServiceOnly => name(SERVICE_CONTROLLER).to_owned(),
            Self::WithoutNodes => without(asked, &NODE_CONTROLLERS, name),
            Self::WithoutLifecycle => without(asked, &[LIFECYCLE_CONTROLLER], name),
            Self::Absent | Self::Shadow | Self::Paused | Self::Full if asked.is_empty() => "*".to_owned(),
            Self::Absent | Self::Shadow | Self::Paused | Self::Full => asked.join(","),
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
            Self::Absent | Self::WithoutNodes | Self::WithoutLifecycle | Self::Full => Vec::new(),
        }
    }
}

/// What is asked for, but for some controllers, whichever of their names was used.
fn without(asked: &[String], unwanted: &[Names], name: impl Fn(Names) -> &'static str) -> String {
    let is_unwanted = |word: &str| {
        let bare = word.strip_prefix('-').unwrap_or(word);
        unwanted.iter().any(|(new, old)| bare == *new || bare == *old)
    };
    let mut kept: Vec<String> = asked.iter().filter(|word| !is_unwanted(word)).cloned().collect();
    if kept.is_empty() && asked.is_empty() {
        kept.push("*".to_owned());
    }
    kept.extend(unwanted.iter().map(|names| format!("-{}", name(*names))));
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
        assert_eq!(
            controllers(ManagerMode::WithoutLifecycle, Bowline, all),
            "*,-cloud-node-lifecycle-controller"
        );
        let asked: &[&str] = &["cloud-node", "cloud-node-lifecycle"];
        assert_eq!(
            controllers(ManagerMode::WithoutLifecycle, Upstream, asked),
            "cloud-node,-cloud-node-lifecycle"
        );
    }
}
