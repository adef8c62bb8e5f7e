//! `bowline breaker status|reset`: the breaker that keeps Nodes when many look gone at once.
//!
//! A reset names the Nodes: it writes, on those whose server the cloud proves gone, the annotation by which a person says that they may go.
//! The manager still proves each anew before it deletes one. So nothing is let go of that is there.

use bowline_cloud::{Evidence, NodeView};
use bowline_controllers::lifecycle::plan::RELEASE_ANNOTATION;
use bowline_controllers::shadow::preview::Machine;
use serde::Serialize;

use crate::ending::{EXIT_CODES, Ending, FINE, FOUND, NOT_LOOKED};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
use crate::sight;
use crate::status::leader;
use crate::status::rails::{self, Rails};
use crate::terminal::line_of;
use crate::way;

/// What to do about the breaker.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Command {
    /// Tells whether it is open, and which Nodes look gone
    Status(Box<StatusArguments>),
    /// Says that Nodes whose server is proven gone may be deleted, whatever breaker and budget say
    Reset(ResetArguments),
}

/// What to look at.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct StatusArguments {
    #[command(flatten)]
    pub(crate) way: way::Arguments,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Which Nodes.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct ResetArguments {
    /// Only these Nodes; without names all whose server is proven gone
    #[arg(value_name = "NODE")]
    pub nodes: Vec<String>,
    /// Write it; without this it is only shown
    #[arg(long, short = 'y')]
    pub yes: bool,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How the breaker stands.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerStatus {
    /// Breaker and budgets.
    pub rails: Rails,
    /// How many Nodes there are.
    pub total: usize,
    /// Those whose server is proven gone.
    pub gone: Vec<GoneNode>,
    /// Those of whose server nobody can say anything.
    pub unknown: Vec<String>,
}

/// A Node whose server is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GoneNode {
    /// Its name.
    pub node: String,
    /// Whether it is ready: then it is not deleted, whatever anybody says.
    pub ready: bool,
    /// Whether a person said that it may go.
    pub released: bool,
    /// Who says that its server is gone.
    pub proof: String,
}

/// What a reset did.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reset {
    /// The Nodes that may go now, or would.
    pub released: Vec<String>,
    /// The Nodes that stay, with the reason.
    pub kept: Vec<String>,
    /// Whether it was written.
    pub written: bool,
}

/// Looks, and tells.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at.
pub async fn status(arguments: &StatusArguments) -> Result<BreakerStatus, Ending> {
    let session = Session::open(&arguments.access).await?;
    let leader = leader::read(&session).await?;
    let rails = rails::read(&session, &leader, &arguments.way).await;
    let machines = machines(&session).await?;
    let unknown = machines
        .iter()
        .filter(|(_, machine)| matches!(machine, Machine::Ours(Evidence::Unknown(_))))
        .map(|(node, _)| node.name.to_string())
        .collect();
    let gone = machines.iter().filter_map(|(node, machine)| gone(node, machine)).collect();
    Ok(BreakerStatus { rails, total: machines.len(), gone, unknown })
}

/// Looks, and writes if that was asked for.
///
/// # Errors
///
/// [`Ending`] if it could not be looked at. A Node that cannot be written to is kept.
pub async fn reset(arguments: &ResetArguments) -> Result<Reset, Ending> {
    let session = Session::open(&arguments.access).await?;
    let machines = machines(&session).await?;
    let mut reset = Reset { written: arguments.yes, ..Reset::default() };
    for name in &arguments.nodes {
        if !machines.iter().any(|(node, _)| node.name == *name) {
            return Err(Ending::refused(format!("there is no Node {name}")));
        }
    }
    for (node, machine) in &machines {
        if !arguments.nodes.is_empty() && !arguments.nodes.iter().any(|name| node.name == *name) {
            continue;
        }
        match judge(node, machine) {
            Ok(()) => {
                let annotation = [(RELEASE_ANNOTATION, Some("true".to_owned()))];
                let written = match arguments.yes {
                    true => session.cluster.annotate_node(node, &annotation).await,
                    false => Ok(()),
                };
                match written {
                    Ok(()) => reset.released.push(node.name.to_string()),
                    Err(ending) => reset.kept.push(format!("{}: {ending}", node.name)),
                }
            }
            Err(Some(why)) => reset.kept.push(format!("{}: {why}", node.name)),
            // Nobody asked for it by name, and there is nothing to say of it.
            Err(None) if arguments.nodes.is_empty() => {}
            Err(None) => reset.kept.push(format!("{}: its server is there", node.name)),
        }
    }
    Ok(reset)
}

async fn machines(session: &Session) -> Result<Vec<(std::sync::Arc<NodeView>, Machine)>, Ending> {
    let nodes = session.cluster.nodes().await?;
    let cloud = session.cloud().await?;
    sight::machines(session, &cloud, &nodes).await.map_err(Ending::not_looked)
}

fn gone(node: &NodeView, machine: &Machine) -> Option<GoneNode> {
    let Machine::Ours(Evidence::Absent(proof)) = machine else { return None };
    Some(GoneNode {
        node: node.name.to_string(),
        ready: node.ready == Some(true),
        released: node.annotations.get(RELEASE_ANNOTATION) == Some("true"),
        proof: proof.to_string(),
    })
}

/// Whether a Node may be let go of; why not, if there is something to say. Pure.
fn judge(node: &NodeView, machine: &Machine) -> Result<(), Option<String>> {
    match machine {
        Machine::Ours(Evidence::Absent(_)) if node.ready == Some(true) => Err(Some(
            "it is Ready although the cloud has no such server; check the credentials and the project"
                .to_owned(),
        )),
        Machine::Ours(Evidence::Absent(_)) => Ok(()),
        Machine::Ours(Evidence::Unknown(doubt)) => {
            Err(Some(format!("nobody can say whether its server is gone: {doubt}")))
        }
        Machine::Ours(Evidence::Present(_)) | Machine::Foreign(_) => Err(None),
    }
}

impl Report for BreakerStatus {
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.rails.words());
        for GoneNode { node, ready, released, proof } in &self.gone {
            let more = match (ready, released) {
                (true, _) => " (Ready: it is kept)",
                (false, true) => " (a person said that it may go)",
                (false, false) => "",
            };
            text.push_str(&line_of(format!("gone: {node}{more}: {proof}")));
        }
        self.unknown.iter().for_each(|node| text.push_str(&line_of(format!("unknown: {node}"))));
        text.push_str(&line_of(format!("{} of {} Nodes have no server.", self.gone.len(), self.total)));
        text
    }

    fn code(&self) -> u8 {
        match (self.unknown.is_empty(), self.gone.is_empty() && self.rails.breaker_open != Some(true)) {
            (false, _) => NOT_LOOKED,
            (true, true) => FINE,
            (true, false) => FOUND,
        }
    }
}

impl Report for Reset {
    fn text(&self) -> String {
        let said = if self.written { "may be deleted now" } else { "would be let go of; --yes says it" };
        let mut text: String = self.released.iter().map(|node| line_of(format!("{node}: {said}"))).collect();
        text.extend(self.kept.iter().map(|why| line_of(format!("kept: {why}"))));
        if text.is_empty() { "No Node is without its server.\n".to_owned() } else { text }
    }

    fn code(&self) -> u8 {
        if self.kept.is_empty() { FINE } else { FOUND }
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{Doubt, Instance, Proof};

    use super::*;

    #[test]
    fn only_a_node_that_is_not_ready_and_whose_server_is_proven_gone_is_let_go_of() {
        let dead = NodeView { ready: Some(false), ..NodeView::default() };
        let ready = NodeView { ready: Some(true), ..NodeView::default() };
        let absent = || Machine::Ours(Evidence::Absent(Proof::new("404")));
        assert_eq!(judge(&dead, &absent()), Ok(()));
        assert!(judge(&ready, &absent()).unwrap_err().unwrap().contains("Ready"));
        assert!(judge(&dead, &Machine::Ours(Evidence::Unknown(Doubt::new("502")))).unwrap_err().is_some());
        assert_eq!(judge(&dead, &Machine::Ours(Evidence::Present(Instance::default()))), Err(None));
        assert_eq!(judge(&dead, &Machine::Foreign("metal".into())), Err(None));
    }
}
