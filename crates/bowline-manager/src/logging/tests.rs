//! Logging as a reader of the log meets it: what is let through at which verbosity, and how a line looks.

mod canary;

use std::io::Write;

use jiff::Timestamp;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{debug, error, info, info_span, trace, warn};

use super::filter::{directives_within, everything};
use super::*;

/// Where a test's lines go.
#[derive(Clone, Default)]
struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Sheet {
    fn lines(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock());
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
        text.lines().map(str::to_owned).collect()
    }
}

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Sheet {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn logged(options: &LoggingOptions, work: impl FnOnce(&LogLevel)) -> Vec<String> {
    let sheet = Sheet::default();
    let (dispatch, level) = subscriber(options, sheet.clone()).unwrap();
    tracing::dispatcher::with_default(&dispatch, || work(&level));
    sheet.lines()
}

fn at(verbosity: u8) -> LoggingOptions {
    LoggingOptions { verbosity, ..LoggingOptions::default() }
}

fn vmodule(pairs: &[(&str, u8)]) -> Vec<(String, u8)> {
    pairs.iter().map(|(pattern, level)| ((*pattern).to_owned(), *level)).collect()
}

macro_rules! speak_as {
    ($target:literal) => {
        error!(target: $target, "{} error", $target);
        warn!(target: $target, "{} warn", $target);
        info!(target: $target, "{} info", $target);
        debug!(target: $target, "{} debug", $target);
        trace!(target: $target, "{} trace", $target);
    };
}

/// The lowest level at which each kind of crate is heard: ours, another one, a chatty one.
fn heard(options: &LoggingOptions) -> [String; 3] {
    let lines = logged(options, |_| {
        speak_as!("bowline_kube::lease::elector");
        speak_as!("some_crate::part");
        speak_as!("kube_client::config");
    });
    ["bowline_kube", "some_crate", "kube_client"].map(|who| {
        let last = lines.iter().rfind(|line| line.contains(&format!(": {who}"))).unwrap();
        last.rsplit(' ').next().unwrap().to_owned()
    })
}

#[test]
fn each_verbosity_lets_more_through() {
    let rows = [
        (0..=1, ["info", "info", "warn"]),
        (2..=3, ["debug", "info", "warn"]),
        (4..=5, ["debug", "debug", "warn"]),
        (6..=10, ["trace", "debug", "debug"]),
        (255..=255, ["trace", "debug", "debug"]),
    ];
    for (verbosities, expected) in rows {
        for verbosity in verbosities {
            assert_eq!(heard(&at(verbosity)), expected, "-v={verbosity}");
        }
    }
}

#[test]
fn the_filter_names_the_crates() {
    let quiet = "h2=warn,hyper=warn,kube=warn,rustls=warn,tokio_rustls=warn,tower=warn";
    assert_eq!(directives(0, &[]), format!("info,bowline=info,{quiet}"));
    assert_eq!(directives(2, &[]), format!("info,bowline=debug,{quiet}"));
}

/// What `EnvFilter` warns of on standard error, once for each directive: a level that the build does not contain.
#[test]
fn no_directive_asks_for_more_than_the_build_contains() {
    let modules = vmodule(&[("bowline_kube::lease", 9), ("kube_client", 6), ("some_crate*", 255), ("*", 7)]);
    let levels = [
        LevelFilter::OFF,
        LevelFilter::ERROR,
        LevelFilter::WARN,
        LevelFilter::INFO,
        LevelFilter::DEBUG,
        LevelFilter::TRACE,
    ];
    for built_in in levels {
        for verbosity in 0..=u8::MAX {
            for pairs in [&[][..], &modules[..1], &modules[1..3], &modules[..]] {
                let filter = directives_within(built_in, verbosity, pairs);
                let said = filter.split(',').map(|directive| directive.rsplit('=').next().unwrap());
                let most = said.map(|level| level.parse::<LevelFilter>().unwrap()).max().unwrap();
                assert!(most <= built_in, "-v={verbosity} in a build up to {built_in}: {filter}");
            }
        }
    }
    let shipped = directives_within(LevelFilter::DEBUG, 6, &[]);
    assert!(shipped.starts_with("debug,bowline=debug,h2=debug,"), "as much as there is: {shipped}");
    assert_eq!(everything().parse::<LevelFilter>().unwrap(), STATIC_MAX_LEVEL);
}

#[test]
fn vmodule_raises_one_module_and_never_lowers_any() {
    let with = |verbosity, pairs: &[(&str, u8)]| LoggingOptions { vmodule: vmodule(pairs), ..at(verbosity) };
    assert_eq!(heard(&with(0, &[("bowline_kube::lease", 4)])), ["debug", "info", "warn"]);
    assert_eq!(heard(&with(0, &[("bowline_kube::le*", 6)])), ["trace", "info", "warn"]);
    assert_eq!(heard(&with(0, &[("bowline_manager", 6)])), ["info", "info", "warn"]);
    assert_eq!(heard(&with(0, &[("kube_client", 4)])), ["info", "info", "debug"]);
    assert_eq!(heard(&with(6, &[("bowline_kube", 2)])), ["trace", "debug", "debug"]);
    assert_eq!(heard(&with(0, &[("bowline", 6), ("bowline_kube::lease", 2)])), ["trace", "info", "warn"]);
    assert_eq!(heard(&with(0, &[("*", 2)])), ["debug", "debug", "debug"]);
}

#[test]
fn a_pattern_that_can_match_no_module_changes_nothing() {
    let patterns = [
        "",
        "a=b",
        "a,b",
        "le*se",
        "[span]",
        "a b",
        "lease.go",
        "*loadbalancer*",
        "pkg/x",
        "bowline-kube",
        "k?be",
    ];
    for pattern in patterns {
        assert_eq!(directives(0, &vmodule(&[(pattern, 9)])), directives(0, &[]), "{pattern:?}");
    }
}

#[test]
fn whatever_vmodule_says_the_log_can_be_set_up() {
    for pattern in
        ["*", "**", ":", "::", "5", "info", "off", "trace*", "_", "a::", "log", "=", "ü", "%", "a/{b}"]
    {
        let options = LoggingOptions { vmodule: vmodule(&[(pattern, 3), ("kube", 4)]), ..at(0) };
        let (_dispatch, level) = subscriber(&options, io::sink).unwrap_or_else(|error| panic!("{error}"));
        level.set(9).unwrap();
    }
}

#[test]
fn the_verbosity_changes_at_run_time_and_vmodule_stays() {
    let options = LoggingOptions { vmodule: vmodule(&[("bowline_kube", 4)]), ..at(0) };
    let lines = logged(&options, |level| {
        assert_eq!(level.get(), 0);
        debug!(target: "bowline_manager", "too early");
        level.set(4).unwrap();
        assert_eq!(level.clone().get(), 4);
        debug!(target: "bowline_manager", "in time");
        level.set(0).unwrap();
        debug!(target: "bowline_manager", "too late");
        debug!(target: "bowline_kube", "always");
    });
    let said: Vec<_> = lines.iter().map(|line| line.split_once(": ").unwrap().1).collect();
    assert_eq!(said, ["in time", "always"]);
}

#[test]
fn without_its_subscriber_the_verbosity_cannot_be_changed() {
    let (dispatch, level) = subscriber(&at(1), io::sink).unwrap();
    drop(dispatch);
    assert!(matches!(level.set(4), Err(LoggingError::NotChangeable(_))));
    assert_eq!(level.get(), 1);
}

#[test]
fn a_line_of_text_has_time_level_module_spans_message_and_fields() {
    let lines = logged(&at(0), |_| {
        let span = info_span!(target: "bowline_manager", "sync", service = "default/web");
        span.in_scope(|| info!(target: "bowline_kube::lease::elector", attempt = 2, name = "a b", "renewed"));
        warn!(target: "short", "alone");
    });
    let [long, short] = lines.as_slice() else { panic!("{lines:?}") };
    let (time, rest) = long.split_once(' ').unwrap();
    assert!(time.ends_with('Z') && time.parse::<Timestamp>().is_ok(), "{time}");
    assert_eq!(rest, " INFO lease::elector: sync{service=\"default/web\"}: renewed attempt=2 name=\"a b\"");
    assert_eq!(short.split_once(' ').unwrap().1, " WARN short: alone");
}

#[test]
fn a_record_of_the_log_crate_shows_where_it_comes_from() {
    let lines = logged(&at(0), |_| info!(target: "log", { log.target = "rustls::client::hs" }, "shaken"));
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(line.split_once(' ').unwrap().1, " INFO client::hs: shaken");
}

#[test]
fn what_others_wrote_cannot_begin_a_line_of_text_or_colour_the_terminal() {
    let hostile = "first\nsecond\r\u{1b}[31m\u{2028}end\tümlaut";
    let lines = logged(&at(0), |_| {
        let span = info_span!("sync", name = %hostile);
        span.in_scope(|| info!(reason = %hostile, "{hostile}"));
    });
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(!line.contains(char::is_control) && !line.contains('\u{2028}'), "{line:?}");
    assert_eq!(line.matches("ümlaut").count(), 3, "{line}");
}

#[test]
fn a_line_of_json_is_an_object_with_time_level_target_spans_and_fields() {
    let options = LoggingOptions { format: LogFormat::Json, ..at(0) };
    let lines = logged(&options, |_| {
        let span = info_span!("sync", service = "default/web");
        span.in_scope(|| info!(target: "bowline_kube::lease::elector", attempt = 2, "two\nlines"));
    });
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let object: serde_json::Value = serde_json::from_str(line).unwrap();
    assert!(object["timestamp"].as_str().unwrap().parse::<Timestamp>().is_ok());
    assert_eq!(object["level"], "INFO");
    assert_eq!(object["target"], "bowline_kube::lease::elector");
    assert_eq!(object["fields"], serde_json::json!({"message": "two\nlines", "attempt": 2}));
    assert_eq!(object["spans"], serde_json::json!([{"name": "sync", "service": "default/web"}]));
}

/// Says in a process started by [`a_process_sets_up_its_log_once_on_standard_error`] that this is the one to do so.
const IN_CHILD: &str = "BOWLINE_TEST_SETS_UP_LOGGING";

/// The log of a process is global, so the test runs itself again in a process of its own.
#[test]
fn a_process_sets_up_its_log_once_on_standard_error() {
    if std::env::var_os(IN_CHILD).is_some() {
        let level = init(&at(0)).unwrap();
        debug!(target: "bowline_kube", "too early");
        info!(target: "bowline_kube", "on time");
        level.set(4).unwrap();
        debug!(target: "bowline_kube", "on demand");
        assert!(matches!(init(&at(6)), Err(LoggingError::SetUpTwice(_))));
        trace!(target: "bowline_kube", "never");
        return;
    }
    let test = "logging::tests::a_process_sets_up_its_log_once_on_standard_error";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let log = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{log}");
    let said: Vec<_> =
        log.lines().filter_map(|line| line.split_once("bowline_kube: ")).map(|(_, said)| said).collect();
    assert_eq!(said, ["on time", "on demand"], "{log}");
}
