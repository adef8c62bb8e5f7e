//! Notes every request of the clients in the framework's journal, by the form of its path. Translates, and decides nothing.

use std::sync::OnceLock;

use bowline_cloud::journal::path_form;
use bowline_cloud::{CallNote, Journal, Note};
use openstack_client::{Sent, Witness};

/// The framework's journal, once there is one.
#[derive(Debug, Default)]
pub(super) struct SharedJournal(OnceLock<Journal>);

impl SharedJournal {
    /// Notes there from now on. Only the first counts: all clients of a process share it.
    pub(super) fn give(&self, journal: Journal) {
        self.0.get_or_init(|| journal);
    }
}

impl Witness for SharedJournal {
    fn sent(&self, sent: Sent<'_>) {
        if let Some(journal) = self.0.get() {
            journal.note(|| {
                let Sent { service, method, path, status, took, request_id } = sent;
                let (method, path) = (method.to_owned(), path_form(path));
                Note::Call(CallNote { service: service.as_str(), method, path, status, took, request_id })
            });
        }
    }
}
