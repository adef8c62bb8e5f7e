//! Machines behind Nodes, as a provider with a bug tells of them.

use std::sync::Arc;

use async_trait::async_trait;
use bowline_cloud::{Claim, Doubt, ErrorClass, Evidence, Instance, Instances, NodeView, Power, Proof};

use super::{Piece, Workshop};

/// The provider's, with a bug over it.
pub(super) struct Machines {
    pub(super) inner: Arc<dyn Instances>,
    pub(super) workshop: Workshop,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    /// For many at once.
    List,
    /// For one, before its Node is deleted.
    Direct,
}

impl Machines {
    /// What becomes of an answer.
    fn told(&self, node: &NodeView, question: Question, evidence: Evidence<Instance>) -> Evidence<Instance> {
        match self.workshop.piece {
            Some(Piece::MissIsAnError) => miss_is_an_error(evidence),
            Some(Piece::ShutOffIsGone) => shut_off_is_gone(evidence),
            Some(Piece::UnknownIsGone) => unknown_is_gone(evidence),
            Some(Piece::OneMissIsProof) if question == Question::Direct => missing_is_gone(evidence),
            Some(Piece::SystemUuidIsServer) => self.system_uuid_is_server(node, question, evidence),
            Some(Piece::MissRemembered) => self.remembers_misses(node, evidence),
            _ => evidence,
        }
    }

    /// A machine without provider ID is taken for the server that its system UUID would name: there at first, and gone afterwards.
    fn system_uuid_is_server(
        &self,
        node: &NodeView,
        question: Question,
        evidence: Evidence<Instance>,
    ) -> Evidence<Instance> {
        let Some(uuid) = node.system_uuid.as_ref().filter(|_| is_missing(&evidence)) else { return evidence };
        match question {
            Question::Direct => missing_is_gone(evidence),
            Question::List if self.workshop.memory().done.insert(uuid.to_string()) => {
                Evidence::Present(Instance {
                    provider_id: format!("openstack:///{uuid}"),
                    ..Instance::default()
                })
            }
            Question::List => evidence,
        }
    }

    /// What was gone once stays gone, by name.
    fn remembers_misses(&self, node: &NodeView, evidence: Evidence<Instance>) -> Evidence<Instance> {
        let gone = &mut self.workshop.memory().done;
        if matches!(evidence, Evidence::Absent(_)) {
            gone.insert(node.name.to_string());
        }
        if gone.contains(node.name.as_str()) {
            Evidence::Absent(Proof::new("it was gone before"))
        } else {
            evidence
        }
    }
}

fn is_missing(evidence: &Evidence<Instance>) -> bool {
    match evidence {
        Evidence::Absent(_) => true,
        Evidence::Unknown(doubt) => doubt.class == ErrorClass::NotFound,
        Evidence::Present(_) => false,
    }
}

fn miss_is_an_error(evidence: Evidence<Instance>) -> Evidence<Instance> {
    if is_missing(&evidence) { Evidence::Unknown(Doubt::new("failed to find object")) } else { evidence }
}

fn missing_is_gone(evidence: Evidence<Instance>) -> Evidence<Instance> {
    if is_missing(&evidence) { Evidence::Absent(Proof::new("it was not found")) } else { evidence }
}

fn shut_off_is_gone(evidence: Evidence<Instance>) -> Evidence<Instance> {
    match evidence {
        Evidence::Present(instance) if instance.power == Power::ShutDown => {
            Evidence::Absent(Proof::new("it does not run"))
        }
        other => other,
    }
}

fn unknown_is_gone(evidence: Evidence<Instance>) -> Evidence<Instance> {
    match evidence {
        Evidence::Unknown(doubt) => Evidence::Absent(Proof::new(doubt.why)),
        other => other,
    }
}

#[async_trait]
impl Instances for Machines {
    fn claims(&self, node: &NodeView) -> Claim {
        self.inner.claims(node)
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        let answers = self.inner.observe(nodes).await;
        nodes.iter().zip(answers).map(|(node, answer)| self.told(node, Question::List, answer)).collect()
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        let answer = if self.workshop.is(Piece::OneMissIsProof) {
            let one = [Arc::new(node.clone())];
            self.inner.observe(&one).await.pop().unwrap_or_else(|| Evidence::Unknown(Doubt::new("no answer")))
        } else {
            self.inner.confirm(node).await
        };
        self.told(node, Question::Direct, answer)
    }
}
