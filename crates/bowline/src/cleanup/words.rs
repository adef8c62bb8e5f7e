//! What `bowline cleanup` says, to people and to programs. Pure.

use std::fmt::Write;

use bowline_cli::output::{self, Format};
use bowline_cli::terminal::one_line;
use bowline_openstack::cleanup::{CleanupPlan, LeftAlone, Removal, Thing};
use serde::Serialize;

use super::{FAILED, LEFT_ALONE};

/// All that happened, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    cluster: String,
    project: String,
    dry_run: bool,
    /// What was planned to go.
    remove: Vec<Removal>,
    /// What looks like the cluster's and stays.
    pub(super) left_alone: Vec<LeftAlone>,
    /// The ids of what is gone.
    pub(super) removed: Vec<String>,
    /// What could not be removed.
    pub(super) failed: Vec<Failed>,
}

/// Something that could not be removed.
#[derive(Debug, Serialize)]
pub(super) struct Failed {
    /// Its id.
    pub(super) id: String,
    /// Why.
    pub(super) why: String,
}

impl Report {
    pub(super) fn new(cluster: &str, project: &str, dry_run: bool, plan: &CleanupPlan) -> Self {
        Self {
            cluster: cluster.to_owned(),
            project: project.to_owned(),
            dry_run,
            remove: plan.remove.clone(),
            left_alone: plan.left_alone.clone(),
            removed: Vec::new(),
            failed: Vec::new(),
        }
    }
}

impl output::Report for Report {
    fn text(&self) -> String {
        let Self { removed, failed, left_alone, .. } = self;
        if self.dry_run {
            return "Nothing was removed.".to_owned();
        }
        format!("{} removed, {} failed, {} left alone.", removed.len(), failed.len(), left_alone.len())
    }

    fn code(&self) -> u8 {
        match (self.failed.is_empty(), self.left_alone.is_empty()) {
            (false, _) => FAILED,
            (true, false) => LEFT_ALONE,
            (true, true) => 0,
        }
    }
}

/// Says something to people, if there are any.
pub(super) fn show(format: Format, text: impl FnOnce() -> String) {
    if format == Format::Table {
        println!("{}", text());
    }
}

/// Everything that is planned.
pub(super) fn listing(cluster: &str, project: &str, plan: &CleanupPlan) -> String {
    let project = one_line(project);
    let mut text = match plan.remove.len() {
        0 => {
            format!(
                "Nothing of cluster {cluster} is left in project {project} that its tags prove to be its own."
            )
        }
        count => format!("{count} things of cluster {cluster} in project {project} are to be removed:"),
    };
    for removal in &plan.remove {
        write!(text, "\n  {}", line(&removal.thing)).ok();
    }
    if !plan.left_alone.is_empty() {
        text.push_str("\nLeft alone:");
    }
    for left in &plan.left_alone {
        write!(text, "\n  {}: {}", line(&left.thing), one_line(&left.why)).ok();
    }
    text
}

/// One thing in one line. Its names come from the cloud.
pub(super) fn line(thing: &Thing) -> String {
    let Thing { kind, id, name, address, services } = thing;
    let mut text = format!("{kind} {id}");
    if let Some(address) = address {
        write!(text, " {address}").ok();
    }
    if !name.is_empty() {
        write!(text, " ({name})").ok();
    }
    if !services.is_empty() {
        write!(text, " of {}", services.join(", ")).ok();
    }
    one_line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use bowline_openstack::cleanup::Kind;

    use super::*;

    #[test]
    fn names_of_the_cloud_command_no_terminal_and_add_no_lines() {
        let attack = "\u{1b}[2J\u{9b}H\u{202e}\u{7}\nNothing is to be removed.";
        let thing = Thing {
            kind: Kind::LoadBalancer,
            id: attack.to_owned(),
            name: attack.to_owned(),
            address: None,
            services: vec![attack.to_owned()],
        };
        let left = LeftAlone { thing: thing.clone(), why: attack.to_owned() };
        let plan = CleanupPlan { left_alone: vec![left], ..CleanupPlan::default() };
        let asked = listing("kubernetes", attack, &plan);
        assert_eq!(asked.lines().count(), 3, "{asked}");
        for told in [line(&thing), asked] {
            assert!(told.contains("\\u{1b}[2J\\u{9b}H\\u{202e}\\u{7}\\nNothing"), "{told}");
            let harmless = told.chars().all(|one| one == '\n' || !one.is_control());
            assert!(harmless && !told.contains('\u{202e}'), "{told}");
        }
    }
}
