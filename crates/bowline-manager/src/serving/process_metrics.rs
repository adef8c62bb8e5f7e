//! Standard process metrics under the names that dashboards use. They are read from `/proc/self`; values that are missing there are
//! omitted.

use std::path::Path;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

/// Clock ticks per second in `/proc`: Linux reports 100 to user space on every architecture that it supports today.
const TICKS_PER_SECOND: f64 = 100.0;

/// The build, with the labels of upstream's `kubernetes_build_info`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct BuildInfo {
    /// The major version of the Kubernetes API level.
    pub major: String,
    /// The minor version of the Kubernetes API level.
    pub minor: String,
    /// The version of this program.
    pub git_version: String,
    /// The commit of the build.
    pub git_commit: String,
    /// `clean` or `dirty`.
    pub git_tree_state: String,
    /// The build date.
    pub build_date: String,
    /// Upstream's label for the tool chain; here the Rust version.
    pub go_version: String,
    /// The compiler: `rustc`.
    pub compiler: String,
    /// The operating system and architecture.
    pub platform: String,
}

/// The Kubernetes version whose flags, metrics and behaviour the manager implements.
const API_LEVEL: (&str, &str) = ("1", "37");

impl BuildInfo {
    /// The known facts about this build. A release build sets `BOWLINE_GIT_COMMIT` and `BOWLINE_BUILD_DATE`.
    #[must_use]
    pub fn of(version: &str) -> Self {
        let (major, minor) = API_LEVEL;
        Self {
            major: major.to_owned(),
            minor: minor.to_owned(),
            git_version: version.to_owned(),
            git_commit: option_env!("BOWLINE_GIT_COMMIT").unwrap_or("unknown").to_owned(),
            git_tree_state: "unknown".to_owned(),
            build_date: option_env!("BOWLINE_BUILD_DATE").unwrap_or("unknown").to_owned(),
            go_version: "none".to_owned(),
            compiler: "rustc".to_owned(),
            platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// Collects `process_*` and `go_goroutines`; [`Self::register`] also adds `kubernetes_build_info`.
#[derive(Debug)]
pub struct ProcessMetrics {
    runtime: Option<tokio::runtime::Handle>,
}

impl ProcessMetrics {
    /// Adds the collector and the build info to `registry`. Must be called on the tokio runtime whose tasks are to be counted; outside a
    /// runtime, `go_goroutines` is omitted.
    pub fn register(registry: &mut Registry, build: &BuildInfo) {
        let info = Family::<BuildInfo, Gauge>::default();
        info.get_or_create(build).set(1);
        registry.register("kubernetes_build_info", "What was built; always 1", info);
        let runtime = tokio::runtime::Handle::try_current().ok();
        registry.register_collector(Box::new(Self { runtime }));
    }
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let seen = Sample::read(Path::new("/proc"));
        if let Some(seconds) = seen.cpu_seconds {
            let metric = ConstCounter::new(seconds);
            let help = "User and system CPU time spent, in seconds";
            let descriptor =
                encoder.encode_descriptor("process_cpu_seconds", help, None, metric.metric_type())?;
            metric.encode(descriptor)?;
        }
        let tasks = self.runtime.as_ref().map(|runtime| runtime.metrics().num_alive_tasks() as f64);
        let gauges = [
            ("process_resident_memory_bytes", "Resident memory", seen.resident_bytes),
            ("process_virtual_memory_bytes", "Virtual memory", seen.virtual_bytes),
            ("process_open_fds", "Open file descriptors", seen.open_fds),
            ("process_max_fds", "Limit of open file descriptors", seen.max_fds),
            ("process_start_time_seconds", "Start of the process since the epoch", seen.start_seconds),
            // Kubernetes dashboards plot this name; the number of alive tasks is the closest equivalent.
            ("go_goroutines", "Alive tokio tasks", tasks),
        ];
        for (name, help, value) in gauges {
            let Some(value) = value else { continue };
            let metric = ConstGauge::new(value);
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)?;
        }
        Ok(())
    }
}

/// A snapshot of `/proc`.
#[derive(Debug, Default, PartialEq)]
struct Sample {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    open_fds: Option<f64>,
    max_fds: Option<f64>,
    start_seconds: Option<f64>,
}

impl Sample {
    fn read(proc: &Path) -> Self {
        let text = |file: &str| std::fs::read_to_string(proc.join(file)).unwrap_or_default();
        let (stat, status) = (text("self/stat"), text("self/status"));
        let open_fds = std::fs::read_dir(proc.join("self/fd")).ok().map(|fds| fds.count() as f64);
        Self {
            cpu_seconds: cpu_seconds(&stat),
            resident_bytes: kilobytes(&status, "VmRSS:"),
            virtual_bytes: kilobytes(&status, "VmSize:"),
            open_fds,
            max_fds: max_fds(&text("self/limits")),
            start_seconds: start_seconds(&stat, &text("stat")),
        }
    }
}

/// Field `number` of `/proc/self/stat`, counted from 1 as in proc(5). The second field is a name that may contain spaces.
fn stat_field(stat: &str, number: usize) -> Option<f64> {
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((stat_field(stat, 14)? + stat_field(stat, 15)?) / TICKS_PER_SECOND)
}

fn start_seconds(stat: &str, system_stat: &str) -> Option<f64> {
    let boot: f64 = system_stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + stat_field(stat, 22)? / TICKS_PER_SECOND)
}

fn kilobytes(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

fn max_fds(limits: &str) -> Option<f64> {
    limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    const STAT: &str = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 4 0 1000 5000 60";

    #[test]
    fn a_process_name_with_brackets_does_not_shift_the_fields() {
        assert_eq!(cpu_seconds(STAT), Some(4.0));
        assert_eq!(start_seconds(STAT, "cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_010.0));
    }

    #[test]
    fn memory_and_limits_are_read_by_name() {
        assert_eq!(kilobytes("VmSize:\t  20 kB\nVmRSS:\t  3 kB\n", "VmRSS:"), Some(3072.0));
        assert_eq!(max_fds("Limit Soft Hard\nMax open files            1024   4096   files\n"), Some(1024.0));
    }

    #[test]
    fn a_system_without_proc_has_no_sample() {
        assert_eq!(Sample::read(Path::new("/nonexistent")), Sample::default());
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn the_page_has_the_names_dashboards_use() {
        let mut registry = Registry::default();
        let build = BuildInfo { git_version: "v1.2.3".to_owned(), ..BuildInfo::default() };
        ProcessMetrics::register(&mut registry, &build);
        let mut page = String::new();
        encode(&mut page, &registry).unwrap();
        for name in [
            "\nprocess_cpu_seconds_total ",
            "\nprocess_resident_memory_bytes ",
            "\nprocess_open_fds ",
            "\nprocess_max_fds ",
            "\nprocess_start_time_seconds ",
            "\ngo_goroutines ",
            "git_version=\"v1.2.3\"",
        ] {
            assert!(page.contains(name), "{name:?} not in\n{page}");
        }
    }
}
