//! The forms of a command line, and what is said about wrong ones.

use super::*;

fn table() -> FlagTable {
    FlagTable::common()
}

fn read(line: &[&str]) -> Parsed {
    parse(&table(), line).unwrap_or_else(|errors| panic!("{line:?}: {errors}"))
}

fn refused(line: &[&str]) -> Vec<String> {
    match parse(&table(), line) {
        Ok(_) => panic!("{line:?} was accepted"),
        Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_value_is_attached_or_follows() {
    assert_eq!(read(&["--cluster-name=a"]).text("cluster-name"), "a");
    assert_eq!(read(&["--cluster-name", "a"]).text("cluster-name"), "a");
    assert_eq!(read(&["--cluster-name="]).text("cluster-name"), "");
    assert_eq!(read(&["--cluster-name", "--v=2"]).text("cluster-name"), "--v=2", "as pflag takes it");
    assert_eq!(
        read(&["--leader-elect-lease-duration=1m"]).duration("leader-elect-lease-duration").to_string(),
        "1m0s"
    );
    assert_eq!(read(&["--cluster-name=a", "--cluster-name=b"]).text("cluster-name"), "b");
}

#[test]
fn a_boolean_never_takes_the_next_argument() {
    assert!(read(&["--allocate-node-cidrs"]).bool("allocate-node-cidrs"));
    assert!(!read(&["--leader-elect=false"]).bool("leader-elect"));
    assert!(!read(&["--leader-elect=F"]).bool("leader-elect"));
    assert_eq!(
        refused(&["--leader-elect", "false"]),
        ["unexpected argument \"false\"; only flags are accepted; did you mean --leader-elect=false?"]
    );
}

#[test]
fn the_verbosity_has_all_forms_of_a_letter() {
    for line in [&["-v=2"][..], &["-v2"], &["-v", "2"], &["--v=2"], &["--v", "2"]] {
        assert_eq!(read(line).int("v"), 2, "{line:?}");
    }
    assert!(read(&["-h"]).bool("help"));
    let both = read(&["-hv4"]);
    assert!(both.bool("help") && both.int("v") == 4);
}

#[test]
fn an_underscore_in_a_name_is_a_dash() {
    let parsed = read(&["--cluster_name=a_b"]);
    assert_eq!(parsed.text("cluster-name"), "a_b", "values keep theirs");
    assert!(parsed.is_given("cluster-name"));
}

#[test]
fn the_first_list_replaces_the_default_and_later_ones_append() {
    assert_eq!(read(&[]).list("controllers"), ["*"]);
    assert_eq!(read(&["--controllers=a,b", "--controllers", "c"]).list("controllers"), ["a", "b", "c"]);
    assert!(read(&["--controllers="]).list("controllers").is_empty());
    let pairs = read(&["--tls-sni-cert-key=a,b:c,d", "--tls-sni-cert-key=e,f"]);
    assert_eq!(pairs.list("tls-sni-cert-key"), ["a,b:c,d", "e,f"]);
}

#[test]
fn maps_merge() {
    let parsed = read(&["--feature-gates=A=true,B=false", "--feature-gates=B=true"]);
    assert_eq!(parsed.map("feature-gates"), [("A".into(), "true".into()), ("B".into(), "true".into())]);
}

#[test]
fn the_version_is_bare_raw_or_a_version() {
    use crate::flags::VersionRequest::{None as Nothing, Raw, Report, Short};
    for (line, means) in [
        (&[][..], Nothing),
        (&["--version=false"], Nothing),
        (&["--version"], Short),
        (&["--version=T"], Short),
        (&["--version=raw"], Raw),
        (&["--version=v1.2.3"], Report("v1.2.3".to_owned())),
        (&["--version", "--version=false"], Nothing),
    ] {
        assert_eq!(read(line).version(), means, "{line:?}");
    }
    assert_eq!(read(&["--version=T"]).text("version"), "true", "as /flagz shows it");
    assert_eq!(
        refused(&["--version=new"]),
        ["--version=new: accepted are true, false, raw and a version such as v1.37.0"]
    );
}

#[test]
fn what_was_not_given_is_the_default() {
    let parsed = read(&["--secure-port=10258"]);
    assert_eq!(parsed.given(), ["secure-port"]);
    assert!(parsed.is_given("secure-port") && !parsed.is_given("bind-address"));
    assert_eq!(parsed.ip("bind-address").to_string(), "0.0.0.0");
    assert!((parsed.float("kube-api-qps") + 1.0).abs() < f64::EPSILON);
    assert_eq!(parsed.listing().len(), table().rows().len());
}

#[test]
fn arguments_that_are_no_flags_are_refused_also_after_two_dashes() {
    assert_eq!(refused(&["run"]), ["unexpected argument \"run\"; only flags are accepted"]);
    assert_eq!(refused(&["--v=1", "--", "--v=2", "-"]).len(), 2);
    assert_eq!(read(&["--v=1", "--"]).int("v"), 1);
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    assert_eq!(refused(&["--cluster-nam=a"]), ["unknown flag --cluster-nam; did you mean --cluster-name?"]);
    assert_eq!(
        refused(&["--cloud_configg", "x"]),
        ["unknown flag --cloud_configg; did you mean --cloud-config?"]
    );
    assert_eq!(refused(&["-kubeconfig=x"]), ["unknown flag -k in -kubeconfig=x; did you mean --kubeconfig?"]);
    assert_eq!(refused(&["-kubeconfig", "x"]).len(), 1, "its value is not blamed too");
    assert_eq!(refused(&["--frobnicate"]), ["unknown flag --frobnicate"]);
    assert_eq!(
        refused(&["---v", "--=1"]),
        ["\"---v\" is no flag; write --name=value", "\"--=1\" is no flag; write --name=value"]
    );
}

#[test]
fn every_wrong_flag_is_named_with_its_value_and_what_is_accepted() {
    assert_eq!(
        refused(&[
            "--leader-elect=maybe",
            "--node-monitor-period=5",
            "--secure-port=https",
            "--kube-api-qps=NaN",
            "--bind-address=localhost",
            "--feature-gates=A",
            "--cluster-name",
        ]),
        [
            "--leader-elect=maybe: accepted are true and false",
            "--node-monitor-period=5: accepted is a duration of at most 2562047h, such as 300ms, 1.5s, 5m or 1h30m",
            "--secure-port=https: accepted is a whole number",
            "--kube-api-qps=NaN: accepted is a number",
            "--bind-address=localhost: accepted is an IPv4 or IPv6 address, such as 0.0.0.0 or ::",
            "--feature-gates=A: \"A\" has no '='; accepted are key=value pairs separated by commas",
            "--cluster-name needs a value, but nothing follows it",
        ]
    );
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_refused_and_not_a_panic() {
    use std::os::unix::ffi::OsStringExt;
    let errors = parse(&table(), [OsString::from_vec(vec![b'-', b'-', 0xff])]).unwrap_err();
    assert!(matches!(errors.0.as_slice(), [FlagProblem::Malformed(_)]));
}
