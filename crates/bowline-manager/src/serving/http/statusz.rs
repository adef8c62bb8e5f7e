//! The text of `/statusz` and `/flagz`: for people, in a format that may change. Pure.

use std::fmt::Write;
use std::time::Duration;

use jiff::Timestamp;

use crate::serving::process_metrics::BuildInfo;

/// The page `/statusz`.
pub(super) fn statusz(
    component: &str,
    build: &BuildInfo,
    started: Timestamp,
    up: Duration,
    paths: &[&str],
) -> String {
    let (hours, minutes, seconds) = (up.as_secs() / 3600, up.as_secs() / 60 % 60, up.as_secs() % 60);
    format!(
        "\n{component} statusz\nFor people, not for programs: the form of this page may change.\n\n\
         Started: {}\nUp: {hours} hr {minutes:02} min {seconds:02} sec\n\
         Binary version: {}\nKubernetes API level: {}.{}\nCompiler: {} {}\nPlatform: {}\nPaths: {}\n",
        started.strftime("%a %b %e %H:%M:%S UTC %Y"),
        build.git_version,
        build.major,
        build.minor,
        build.compiler,
        build.go_version,
        build.platform,
        paths.join(" "),
    )
}

/// The page `/flagz`, sorted by name.
pub(super) fn flagz(component: &str, mut flags: Vec<(String, String)>) -> String {
    flags.sort();
    let mut page =
        format!("\n{component} flagz\nFor people, not for programs: the form of this page may change.\n\n");
    for (name, value) in flags {
        let written = writeln!(page, "{name}={value}");
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_page_tells_start_and_up_time() {
        let started = Timestamp::from_second(1_800_000_000).unwrap();
        let page = statusz(
            "ccm",
            &BuildInfo::default(),
            started,
            Duration::from_secs(3_723),
            &["/healthz", "/metrics"],
        );
        assert!(page.contains("Started: Fri Jan 15 08:00:00 UTC 2027\n"), "{page}");
        assert!(page.contains("Up: 1 hr 02 min 03 sec\n"), "{page}");
        assert!(page.contains("Paths: /healthz /metrics\n"), "{page}");
    }

    #[test]
    fn flags_are_sorted() {
        let page = flagz("ccm", vec![("v".into(), "2".into()), ("controllers".into(), "*".into())]);
        assert!(page.ends_with("\n\ncontrollers=*\nv=2\n"), "{page}");
    }
}
