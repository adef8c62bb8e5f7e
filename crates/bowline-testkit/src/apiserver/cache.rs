//! The folder for everything that is too slow to make again: one definition for the tests, `xtask` and the real cloud.
//!
//! Only names it; it must not create it. Uses nothing but `std`, because others include this file by its path.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where everything is kept that is too slow to build again; outside `target/`, so that `cargo clean` leaves it.
#[must_use]
pub fn cache_folder() -> PathBuf {
    let environment = |name: &str| std::env::var_os(name);
    cache_folder_from(environment, std::env::home_dir())
        .unwrap_or_else(|| std::env::temp_dir().join("bowline"))
}

/// The order of precedence: `BOWLINE_CACHE`, the user's cache folder, the home folder.
fn cache_folder_from(
    environment: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Option<PathBuf> {
    let folder = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("BOWLINE_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("bowline")))
        .or_else(|| home.map(|home| home.join(".cache/bowline")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_folder_is_the_named_one_then_the_users_then_under_home() {
        let home = || Some(PathBuf::from("/home/a"));
        let folder = |set: &[(&str, &str)], home| {
            let find = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
            cache_folder_from(find, home)
        };
        let both = [("BOWLINE_CACHE", "/b"), ("XDG_CACHE_HOME", "/x")];
        assert_eq!(folder(&both, home()), Some("/b".into()));
        assert_eq!(
            folder(&[("BOWLINE_CACHE", ""), ("XDG_CACHE_HOME", "/x")], home()),
            Some("/x/bowline".into())
        );
        assert_eq!(folder(&[], home()), Some("/home/a/.cache/bowline".into()));
        assert_eq!(folder(&[], None), None);
    }
}
