//! Where the kube-apiserver and etcd binaries are: the environment, or the cache folder that `cargo xtask kubernetes` fills.
//!
//! Only looks; it must not build or download. Uses nothing but `std`, because `xtask` compiles this same file: there is
//! one definition of the version and of the cache folder.

use std::fmt;
use std::path::PathBuf;

#[path = "cache.rs"] // beside this file, also for those who include it by its path
mod cache;

pub use cache::cache_folder;

/// The Go module that pins what is tested against: the one place where the version is written.
const GO_MOD: &str = include_str!("../../../../tests/real-kubernetes/pins/go.mod");

/// The two servers a test cluster consists of, and what some tests need besides: those are beside the servers or in the cache
/// folder, and there only if they were built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    /// Path of the etcd server.
    pub etcd: PathBuf,
    /// Path of the kube-apiserver.
    pub kube_apiserver: PathBuf,
    /// Path of the candidate for a Lease that uses client-go.
    pub lease_candidate: Option<PathBuf>,
    /// Path of upstream's own manager over its fake cloud.
    pub upstream_ccm: Option<PathBuf>,
    /// Path of kubectl.
    pub kubectl: Option<PathBuf>,
    /// Path of the manager of cloud-provider-openstack.
    pub occm: Option<PathBuf>,
}

/// The folder that was looked into, and lacks a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingBinaries {
    folder: PathBuf,
    from_environment: bool,
}

impl Binaries {
    /// The binaries of this machine: from `KUBEBUILDER_ASSETS` if it is set, else from the cache folder.
    ///
    /// # Errors
    /// When a binary is not there; the message names both ways to get it.
    pub fn locate() -> Result<Self, MissingBinaries> {
        match std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()) {
            Some(folder) => Self::of_folder(folder.into(), true),
            None => Self::of_folder(cached_binaries_folder(), false),
        }
    }

    fn of_folder(folder: PathBuf, from_environment: bool) -> Result<Self, MissingBinaries> {
        let optional = |name: &str| {
            let places = [folder.join(name), cached_binaries_folder().join(name)];
            places.into_iter().find(|path| path.is_file())
        };
        let found = Self {
            etcd: folder.join("etcd"),
            kube_apiserver: folder.join("kube-apiserver"),
            lease_candidate: optional("lease-candidate"),
            upstream_ccm: optional("upstream-ccm"),
            kubectl: optional("kubectl"),
            occm: optional("openstack-cloud-controller-manager"),
        };
        if found.etcd.is_file() && found.kube_apiserver.is_file() {
            Ok(found)
        } else {
            Err(MissingBinaries { folder, from_environment })
        }
    }
}

impl fmt::Display for MissingBinaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, first) = if self.from_environment {
            ("which KUBEBUILDER_ASSETS names", "unset it and run")
        } else {
            ("the cache folder", "run")
        };
        write!(
            f,
            "no kube-apiserver and etcd in {}, {source}. Two ways out: {first} `cargo xtask kubernetes`, which builds \
             Kubernetes {} with Go, or set KUBEBUILDER_ASSETS to a folder that holds both (setup-envtest makes one)",
            self.folder.display(),
            kubernetes_version(),
        )
    }
}

impl std::error::Error for MissingBinaries {}

/// The Kubernetes version the tests are written for, such as `1.37.1`.
#[must_use]
pub fn kubernetes_version() -> &'static str {
    pinned_version(GO_MOD, "k8s.io/kubernetes").unwrap_or("unknown")
}

/// Where the binaries of [`kubernetes_version`] are kept between runs.
#[must_use]
pub fn cached_binaries_folder() -> PathBuf {
    cache_folder().join(format!("kubernetes-{}", kubernetes_version()))
}

/// The version a go.mod requires of `module`, without its `v`.
#[must_use]
pub fn pinned_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let line = line.trim();
        let mut words = line.strip_prefix("require ").unwrap_or(line).split_whitespace();
        let version = words.next().filter(|word| *word == module).and_then(|_| words.next())?;
        version.strip_prefix('v')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_a_require_block_or_line_and_not_from_a_replacement() {
        let block = "module x\n\nrequire (\n\tk8s.io/api v0.36.3\n\tk8s.io/kubernetes v1.36.3 // why\n)\n";
        assert_eq!(pinned_version(block, "k8s.io/kubernetes"), Some("1.36.3"));
        assert_eq!(pinned_version("require k8s.io/kubernetes v1.37.0", "k8s.io/kubernetes"), Some("1.37.0"));
        assert_eq!(pinned_version("\tk8s.io/kubernetes => ../kubernetes", "k8s.io/kubernetes"), None);
        assert_eq!(pinned_version("k8s.io/kubernetes-csi v1.0.0", "k8s.io/kubernetes"), None);
    }

    #[test]
    fn our_go_module_pins_a_kubernetes_of_at_least_1_36() {
        let mut parts = kubernetes_version().split('.').map(|part| part.parse::<u32>().unwrap());
        assert!((parts.next().unwrap(), parts.next().unwrap()) >= (1, 36));
    }

    #[test]
    fn missing_binaries_name_the_folder_and_both_ways_out() {
        let error = Binaries::of_folder("/nowhere".into(), false).unwrap_err().to_string();
        for part in ["/nowhere", "cargo xtask kubernetes", "KUBEBUILDER_ASSETS"] {
            assert!(error.contains(part), "{part:?} in {error:?}");
        }
    }
}
