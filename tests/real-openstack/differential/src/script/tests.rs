use serde_json::json;

use super::*;

#[test]
fn a_block_says_who_asks_what_and_how_long() {
    let text = "# a server @s\nWAIT compute /v2.1/servers/<made:/server/id>\nAs: admin\nUntil: /server/status = ACTIVE";
    let steps = parse(text).unwrap();
    let [step] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(
        (step.title.as_str(), step.label.as_deref(), step.caller.as_str()),
        ("a server", Some("s"), "admin")
    );
    let until = step.until.clone().unwrap();
    assert!(!until.holds(&Answer { body: json!({"server": {"status": "BUILD"}}), ..Answer::default() }));
    assert!(until.holds(&Answer { body: json!({"server": {"status": "ACTIVE"}}), ..Answer::default() }));
}

#[test]
fn each_cloud_is_asked_with_what_it_answered() {
    let step =
        parse("# x\nGET network /v2.0/ports/<p:/port/id>\nIf-Match: <p:/port/revision>").unwrap().remove(0);
    let kept = Kept::from([("p".to_owned(), json!({"port": {"id": "a", "revision": 3}}))]);
    let step = step.for_cloud(&kept).unwrap();
    assert_eq!((step.path.as_str(), step.headers[0].1.as_str()), ("/v2.0/ports/a", "3"));
    assert!(parse("# x\nGET network /<q:/a>").unwrap().remove(0).for_cloud(&kept).is_err());
}

#[test]
fn a_wait_without_a_condition_is_refused() {
    assert!(parse("# x\nWAIT network /v2.0/ports").is_err());
}
