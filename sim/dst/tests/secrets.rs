//! S10: no secret is told, in whatever a whole run says.

use std::io;
use std::sync::Arc;

use dst::action::Action;
use dst::case::{Case, Timed};
use dst::world::CANARIES;
use dst::{run, swarm};
use parking_lot::Mutex;

#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<u8>>>);

impl io::Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A run of a seed with everything that it logged, at the finest level.
fn overheard(case: &Case) -> (dst::report::Report, String) {
    let ear = Ear::default();
    let writer = ear.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let report = tracing::subscriber::with_default(subscriber, || run(case));
    let logged = String::from_utf8_lossy(&ear.0.lock()).into_owned();
    (report, logged)
}

#[test]
fn no_password_token_or_credential_is_in_any_log_event_status_metric_or_error() {
    for seed in 1..=8 {
        let mut case = swarm::case(seed);
        case.setting.listens = true;
        case.setting.application_credential = seed % 2 == 0;
        let half = case.end_of_faults() / 2;
        case.actions.push(Timed { at: half, action: Action::RotatePassword });
        case.actions.sort_by_key(|timed| timed.at);
        let (report, logged) = overheard(&case);
        assert!(logged.len() > 10_000, "the log was heard");
        assert!(report.said.contains("workqueue"), "the metrics were read");
        let secrets: Vec<&str> = report.secrets.iter().map(String::as_str).chain(CANARIES).collect();
        assert!(secrets.len() > 2, "somebody logged in");
        for secret in secrets {
            assert!(!logged.contains(secret), "seed {seed}: {secret} is in the log");
            assert!(!report.said.contains(secret), "seed {seed}: {secret} is in an object or a metric");
            assert!(!report.story().contains(secret), "seed {seed}: {secret} is in the story");
        }
    }
}
