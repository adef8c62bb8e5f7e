//! Files that are looked at again and again. They are compared by what they hold, read through every link: so the swaps of
//! links by which Kubernetes updates its volumes are seen, and touching a file is not a change.
//!
//! Reading them blocks for a moment: they are small, and looked at rarely.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;
use zeroize::Zeroizing;

/// How often files are looked at.
pub const POLL: Duration = Duration::from_secs(5);
/// How long a change must have been quiet: a file that is just being written is not read.
pub const SETTLE: Duration = Duration::from_secs(1);
/// No configuration is larger; a Secret cannot be either.
const LARGEST_BYTES: u64 = 1 << 20;

/// What a file held; `None` if it could not be read.
type Print = Option<u64>;

/// Files and what they held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Files(BTreeMap<PathBuf, Print>);

impl Files {
    /// Reads a file, and keeps in mind what it held.
    pub(super) fn read(&mut self, path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
        let held = bytes(path);
        self.0.insert(path.to_owned(), held.as_ref().ok().map(|bytes| print(bytes)));
        held
    }

    /// Keeps in mind what these files hold now.
    pub(super) fn look_at(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.0.extend(paths.into_iter().map(|path| {
            let held = bytes(&path).ok().map(|bytes| print(&bytes));
            (path, held)
        }));
    }

    fn now(&self) -> Self {
        let mut now = Self::default();
        now.look_at(self.0.keys().cloned());
        now
    }

    /// Returns when one of the files holds something else, and has been quiet since.
    pub(super) async fn changed(&self) {
        loop {
            sleep(POLL).await;
            let mut found = self.now();
            while found != *self {
                sleep(SETTLE).await;
                let again = self.now();
                if again == found {
                    return;
                }
                found = again;
            }
        }
    }
}

fn bytes(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut held = Zeroizing::new(Vec::new());
    let read = std::fs::File::open(path)?.take(LARGEST_BYTES + 1).read_to_end(&mut held)?;
    if u64::try_from(read).is_ok_and(|read| read > LARGEST_BYTES) {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(held)
}

fn print(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
