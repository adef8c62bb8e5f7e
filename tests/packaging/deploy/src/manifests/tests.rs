//! What people who have no operator must find in the files, and what not.

use super::*;

const WORDS: [&str; 9] = [
    "manifest-deployment",
    "manifest-daemonset",
    "manifest-shadow",
    "manifest-static-pod-rights",
    "manifest-static-pod",
    "kustomize-base",
    "kustomize-deployment",
    "kustomize-daemonset",
    "kustomize-monitor",
];

#[test]
fn no_file_has_a_name_or_label_that_belongs_to_an_operator() {
    for word in WORDS {
        let text = page(word).unwrap().unwrap();
        for foreign in ["bowline-operator:", "bowline.dev/managed-by", "config-hash", "-config-e3b0"] {
            assert!(!text.contains(foreign), "{foreign} in {word}");
        }
    }
}

#[test]
fn every_pod_takes_its_configuration_and_its_cluster_from_where_people_write_them() {
    for word in ["manifest-deployment", "manifest-daemonset", "kustomize-deployment", "kustomize-daemonset"] {
        let text = page(word).unwrap().unwrap();
        assert!(text.contains("secretName: cloud-config"), "{word}");
        assert!(
            text.contains("--cluster-name=$(CLUSTER_NAME)") && text.contains("name: CLUSTER_NAME"),
            "{word}"
        );
    }
}

#[test]
fn base_and_workload_together_are_the_plain_manifest() {
    let documents = |word: &str| {
        let text = page(word).unwrap().unwrap();
        let mut documents: Vec<String> = text.split("---\n").skip(1).map(str::to_owned).collect();
        documents.sort();
        documents
    };
    let mut both = [documents("kustomize-base"), documents("kustomize-deployment")].concat();
    both.sort();
    assert_eq!(both, documents("manifest-deployment"));
}

#[test]
fn an_unknown_word_is_no_file() {
    assert!(page("manifest").unwrap().is_none());
}
