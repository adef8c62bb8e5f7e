//! cloud.conf from a cluster, read on the machine of a person: the keys that would read that machine's files or variables are ignored.
//!
//! Whoever may write the Secret in the cluster would otherwise choose both: which password of the person is read (`use-clouds`), and the
//! host that it is sent to (`auth-url`).

use super::decode::Decoded;
use super::keys::{Field, KEYS, Key};
use super::problem::Problem;

const IGNORED: &str = "it is ignored: this text comes from the cluster, and the key reads a file or a variable of this machine. If that is meant, save the text in a file and name it with --cloud-config";

/// Takes every key out of `decoded` that reads something of this machine, and warns of those that said something.
pub(super) fn ignore_keys(decoded: &mut Decoded, file: &str) {
    for key in KEYS.iter().filter(|key| key.machine) {
        let said = match key.field {
            Field::Text(text) => !std::mem::take(text(&mut decoded.conf)).is_empty(),
            Field::Flag(flag) => std::mem::take(flag(&mut decoded.conf)),
            _no_such_row => false,
        };
        if said {
            decoded.warnings.push(Problem {
                file: file.to_owned(),
                position: None,
                key: Some(name_of(key)),
                what: IGNORED.to_owned(),
            });
        }
    }
}

/// Whether a warning is about a key that [`Site::of_cluster`](super::Site::of_cluster) ignored.
#[must_use]
pub fn is_ignored_key(warning: &Problem) -> bool {
    let is_of = |key: &&Key| warning.key.as_deref() == Some(name_of(key).as_str());
    warning.what == IGNORED && KEYS.iter().filter(|key| key.machine).any(|key| is_of(&key))
}

fn name_of(key: &Key) -> String {
    format!("[{}] {}", key.section.name(), key.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::CloudConf;
    use crate::config::{Source, decode};

    #[test]
    fn every_key_of_this_machine_is_ignored_with_a_warning_and_no_other_is() {
        let keys = || KEYS.iter().filter(|key| key.machine);
        let names: Vec<_> = keys().map(|key| key.name).collect();
        let wanted =
            ["ca-file", "cert-file", "key-file", "use-clouds", "clouds-file", "cloud", "kubeconfig-path"];
        assert_eq!(names, wanted);
        let lines = keys().map(|key| format!("{} = yes\n", key.name)).collect::<String>();
        let text = format!("[Global]\nauth-url = https://k.example/v3\n{lines}");
        let mut decoded = decode(&[Source::new("cloud.conf", text)]).unwrap();
        let before = decoded.warnings.len();
        ignore_keys(&mut decoded, "cloud.conf");
        assert!(decoded.warnings.iter().skip(before).all(is_ignored_key));
        assert_eq!(decoded.warnings.len() - before, names.len(), "{:?}", decoded.warnings);
        let mut wanted = CloudConf::default();
        wanted.global.auth_url = "https://k.example/v3".to_owned();
        assert_eq!(format!("{:?}", decoded.conf), format!("{wanted:?}"));
    }

    #[test]
    fn a_row_that_names_a_file_is_marked_as_one_of_the_machine() {
        // A new key that reads a path must not be forgotten: their names end alike.
        let reads_a_path =
            |name: &str| name.ends_with("-file") || name.ends_with("-path") || name.contains("clouds");
        for key in KEYS.iter().filter(|key| reads_a_path(key.name) && !matches!(key.field, Field::Ignored)) {
            assert!(key.machine, "{}", key.name);
        }
        // Only these kinds can be ignored.
        for key in KEYS.iter().filter(|key| key.machine) {
            assert!(
                matches!(key.field, Field::Text(_) | Field::Flag(_)) && key.default != "true",
                "{}",
                key.name
            );
        }
    }
}
