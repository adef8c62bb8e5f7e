//! Runs what the pages of `docs/` ask for: every block that says `run=…`, page by page, as a reader would.
//!
//! One test for each page, and one that every such page has its test.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a page whose commands do not work fails the test, as it should"
)]

// One definition of where the openstack client is.
#[path = "../../../../../sim/sim-openstack/tests/openstack_client/location.rs"]
mod client_location;
// One definition of where helm is.
#[path = "../../../deploy/tests/tools/location.rs"]
#[allow(dead_code, unreachable_pub, reason = "the file is part of xtask as well")]
mod helm_location;
mod shell;
mod surroundings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bowline_testkit::apiserver::cache_folder;
use docs_tests::{Item, What, first_missing, has_commands, items};

use self::shell::Shell;
use self::surroundings::Surroundings;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs")
}

/// Runs a page to its end.
async fn run(page: &str) {
    let text = fs::read_to_string(docs().join(page)).unwrap();
    if let Some(missing) = missing_client(&items(&text)) {
        // Later blocks may need what an `openstack` block does.
        println!("NOT TESTED, docs/{page}: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut places: BTreeMap<String, (Surroundings, Shell)> = BTreeMap::new();
    for Item { line, what } in items(&text) {
        match what {
            What::File { name, text } => write(&folder.path().join(name), &text),
            What::Run { script, .. } if script.contains("helm ") && helm().is_err() => {
                println!("NOT TESTED, docs/{page}:{line}: {}", helm().unwrap_err());
            }
            What::Run { setup, script, output } => {
                if !places.contains_key(&setup) {
                    let surroundings = Surroundings::start(&setup, folder.path()).await;
                    let surroundings =
                        surroundings.unwrap_or_else(|error| panic!("{page}:{line}: {error:#}"));
                    let shell = Shell::new(folder.path(), &setup, surroundings.variables.clone());
                    places.insert(setup.clone(), (surroundings, shell));
                }
                let (surroundings, shell) = places.get(&setup).unwrap();
                let printed = shell.run(&script).await;
                let printed = printed
                    .unwrap_or_else(|error| panic!("docs/{page}:{line}: {error:#}\n{}", surroundings.logs()));
                println!("docs/{page}:{line}\n{printed}");
                if let Some(missing) = output.and_then(|output| first_missing(&output, &printed)) {
                    panic!(
                        "docs/{page}:{line}: promised is\n{missing}\nprinted was\n{printed}\n{}",
                        surroundings.logs()
                    );
                }
            }
        }
    }
}

/// Writes a file of a page; one that surroundings put there is left as it is, and no longer seen.
fn write(place: &Path, text: &str) {
    if place.is_symlink() {
        fs::remove_file(place).unwrap();
    }
    fs::write(place, text).unwrap();
}

/// Why a page cannot be tested: it uses the openstack client, and there is none.
fn missing_client(items: &[Item]) -> Option<String> {
    let uses_client =
        |item: &Item| matches!(&item.what, What::Run { script, .. } if script.contains("openstack "));
    items.iter().any(uses_client).then(|| client_location::locate(&cache_folder()).err()).flatten()
}

/// Where helm is, or why there is none.
fn helm() -> Result<PathBuf, String> {
    helm_location::helm(&cache_folder())
}

macro_rules! pages {
    ($($name:ident => $page:literal,)*) => {
        /// The pages that have a test.
        const TESTED: &[&str] = &[$($page),*];

        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                run($page).await;
            }
        )*
    };
}

pages! {
    playground => "tutorials/playground.md",
    first_load_balancer => "tutorials/first-load-balancer.md",
    install => "guides/install.md",
    install_kubeadm => "guides/install-kubeadm.md",
    install_k3s => "guides/install-k3s.md",
    install_rke2 => "guides/install-rke2.md",
    install_talos => "guides/install-talos.md",
    install_cluster_api => "guides/install-cluster-api.md",
    install_openshift => "guides/install-openshift.md",
    migrate_from_in_tree => "guides/migrate-from-in-tree.md",
    shared_load_balancers => "guides/shared-load-balancers.md",
    troubleshoot => "guides/troubleshoot.md",
    command_line => "guides/command-line.md",
    status_page => "guides/status-page.md",
    admission => "guides/admission.md",
    hand_over => "guides/hand-over.md",
    operator => "guides/operator.md",
    from_occm => "guides/openstack.md",
    examples => "guides/examples.md",
    ipv6 => "guides/ipv6.md",
    rotate_credentials => "guides/rotate-credentials.md",
    runbooks => "guides/runbooks.md",
}

fn pages_with_commands(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{below}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            pages_with_commands(&path, &format!("{name}/"), found);
        } else if path.extension().is_some_and(|kind| kind == "md") {
            let text = fs::read_to_string(&path).unwrap();
            if has_commands(&text) {
                found.insert(name);
            }
        }
    }
}

#[test]
fn every_page_with_commands_is_run() {
    let mut found = BTreeSet::new();
    pages_with_commands(&docs(), "", &mut found);
    let tested: BTreeSet<String> = TESTED.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(found, tested, "enter the page in the list above, or take it out");
}
