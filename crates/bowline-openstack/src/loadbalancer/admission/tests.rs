//! The policy has what the table says. Whether it judges as the reader does is tested on a real API server.

use super::*;
use crate::loadbalancer::annotations::{ANNOTATIONS, Effect};

fn wrong() -> String {
    let (_, expression) = expression::variables().into_iter().find(|(name, _)| *name == "wrong").unwrap();
    expression
}

#[test]
fn every_annotation_of_a_kind_that_is_judged_stands_in_it_once_and_no_other_does() {
    let wrong = wrong();
    for row in ANNOTATIONS {
        let times = usize::from(expression::refuses(row.kind));
        assert_eq!(wrong.matches(&format!("\"{}\"", row.key)).count(), times, "{}", row.key);
    }
    assert!(ANNOTATIONS.iter().filter(|row| judges(row.kind)).count() > 20);
}

#[test]
fn what_is_accepted_is_told_in_the_words_of_the_controller() {
    let wrong = wrong();
    for row in ANNOTATIONS.iter().filter(|row| expression::refuses(row.kind)) {
        let accepted = row.kind.accepted().replace('\\', "\\\\");
        assert!(wrong.contains(&format!("\"{accepted}\"")), "{}: {accepted}", row.key);
    }
}

#[test]
fn every_annotation_that_counts_only_at_creation_is_warned_of() {
    let text = recreation::policy().to_string();
    for row in ANNOTATIONS {
        let is_warned_of = text.contains(&format!("\\\"{}\\\"", row.key));
        assert_eq!(is_warned_of, row.effect == Effect::Creation, "{}", row.key);
    }
    assert_eq!(recreation::keys().len(), 6);
    assert_eq!(recreation::binding()["spec"]["validationActions"], json!(["Warn"]));
}

#[test]
fn the_documents_survive_yaml() {
    let text = manifest().unwrap();
    let read: Vec<Value> =
        text.split("---\n").skip(1).map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    assert_eq!(read, [policy(), binding(), recreation::policy(), recreation::binding()]);
}
