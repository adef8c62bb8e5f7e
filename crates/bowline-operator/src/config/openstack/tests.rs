//! OpenStack: upstream's seven cases, and what upstream gets wrong.

use proptest::prelude::*;

use super::*;
use bowline_openstack::config::gcfg::{self, ItemKind};

const GOLDEN: &str = "\
[Global]
use-clouds  = true
clouds-file = /etc/openstack/secret/clouds.yaml
cloud       = openstack

[LoadBalancer]
max-shared-lb          = 1
manage-security-groups = true
";

fn transformed(text: &str) -> Transformed {
    transform_openstack(text, &Platform::OpenStack, &OpenStackOptions::default()).unwrap()
}

fn refused(text: &str) -> ConfigError {
    transform_openstack(text, &Platform::OpenStack, &OpenStackOptions::default()).unwrap_err()
}

/// All keys with their values, in order, as the provider reads them.
fn said(text: &str) -> Vec<(String, String, Option<String>)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for item in gcfg::parse(text).items() {
        match &item.kind {
            ItemKind::Section(header) => {
                section = format!("{} {:?}", header.name.to_lowercase(), header.subsection);
            }
            ItemKind::Entry(entry) => {
                let value = entry.value.as_ref().map(|value| value.text.to_string());
                found.push((section.clone(), entry.key.to_lowercase(), value));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn another_platform_is_refused() {
    let error = transform_openstack("", &Platform::Aws, &OpenStackOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "invalid platform, expected to be OpenStack");
}

#[test]
fn credentials_from_elsewhere_are_refused_with_line_and_key() {
    let cases = [
        ("[Global]\nsecret-namespace = foo\nsecret-name = openstack-credentials", "secret-namespace", 2),
        ("[Global]\nsecret-namespace = kube-system\nsecret-name = foo", "secret-name", 3),
        (
            "[Global]\nsecret-namespace = kube-system\nsecret-name = openstack-credentials\nkubeconfig-path = https://foo",
            "kubeconfig-path",
            4,
        ),
    ];
    for (text, key, line) in cases {
        let error = refused(text);
        let wanted = format!("'[Global] {key}' is set to a non-default value");
        assert!(error.to_string().contains(&wanted), "{error}");
        assert_eq!(error.line(), Some(line), "{error}");
        assert_eq!(error.key(), Some(format!("[Global] {key}").as_str()), "{error}");
        assert!(!error.to_string().contains("foo"), "a value is not shown: {error}");
    }
}

#[test]
fn all_wrong_references_are_told_in_the_order_of_the_text() {
    let error = refused("[Global]\nkubeconfig-path = a\nsecret-namespace = b\nsecret-name = c\n");
    let lines: Vec<_> = error.problems().iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [Some(2), Some(3), Some(4)]);
}

#[test]
fn what_installers_wrote_and_nothing_at_all_become_the_same() {
    let old = "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\n\n[BlockStorage]\nignore-volume-az = true\n";
    let with_balancer = format!(
        "{old}\n[LoadBalancer]\nmax-shared-lb          = 1\nmanage-security-groups = true\nuse-octavia            = false\n"
    );
    for text in ["", "\n", "[Global]\n", old, &with_balancer] {
        assert_eq!(transformed(text).text.as_str(), GOLDEN, "from {text:?}");
    }
}

#[test]
fn a_text_in_the_new_form_stays_as_it_is() {
    let once = transformed(GOLDEN);
    assert_eq!(once.text.as_str(), GOLDEN);
    assert_eq!(once.changes, []);
    let native = "[Global]\nauth-url = https://keystone\nuse-clouds = true\nclouds-file = /etc/openstack/secret/clouds.yaml\ncloud = openstack\n";
    let once = transformed(native).text;
    assert_eq!(transformed(&once).text, once);
    assert!(once.contains("auth-url    = https://keystone\n"), "{once:?}");
}

#[test]
fn changes_are_told_with_lines() {
    let text =
        "[Global]\nsecret-name = openstack-credentials\ncloud = mine\n[BlockStorage]\nbs-version = v2\n";
    let told: Vec<String> = transformed(text).changes.iter().map(ToString::to_string).collect();
    let wanted = [
        "line 2: [Global] secret-name is removed",
        "[Global] use-clouds is now true",
        "[Global] clouds-file is now /etc/openstack/secret/clouds.yaml",
        "line 3: [Global] cloud is now openstack",
        "line 4: [BlockStorage] is removed",
        "[LoadBalancer] max-shared-lb is now 1",
        "[LoadBalancer] manage-security-groups is now true",
    ];
    assert_eq!(told, wanted);
}

#[test]
fn keys_that_repeat_are_all_kept() {
    let text = "[Networking]\npublic-network-name = a\npublic-network-name = b\ninternal-network-name = c\ninternal-network-name = d\n";
    let once = transformed(text).text;
    let names = "[Networking]\npublic-network-name   = a\npublic-network-name   = b\ninternal-network-name = c\ninternal-network-name = d\n";
    assert!(once.starts_with(names), "{once:?}");
}

#[test]
fn values_that_need_quotes_keep_them() {
    let lines = [
        r#"password = "a#b;c""#,
        r#"username = "say \"hi\"""#,
        r#"domain-name = "back\\slash""#,
        r#"tenant-name = "tab\there""#,
        r#"user-domain-name = " blanks ""#,
        "region = one \\\n  two",
        "ca-file = /etc/ca.pem ; where it is",
        "trust-id = `backticks`",
    ];
    for line in lines {
        let text = format!("[Global]\n{line}\n");
        let before = said(&text);
        let once = transformed(&text).text;
        let after = said(&once);
        assert_eq!(after.first(), before.first(), "{line:?} became {once:?}");
        assert_eq!(transformed(&once).text, once, "{line:?} is not stable");
    }
}

#[test]
fn a_continuation_at_the_very_end_does_not_swallow_what_follows() {
    let once = transformed("[Global]\nregion = one\\\n").text;
    assert_eq!(said(&once).first().unwrap().2.as_deref(), Some("one"));
    assert_eq!(said(&once).len(), 6, "{once:?}");
}

#[test]
fn sections_and_keys_are_known_in_any_case() {
    let error = refused("[global]\nSecret-Name = other\n");
    assert_eq!((error.line(), error.key()), (Some(2), Some("[Global] secret-name")));
    let once = transformed(
        "[GLOBAL]\nREGION = one\nUSE-CLOUDS = false\n[blockstorage]\nbs-version = v2\n[loadbalancer]\nMax-Shared-LB = 3\n",
    );
    let wanted = "\
[GLOBAL]
REGION      = one
USE-CLOUDS  = true
clouds-file = /etc/openstack/secret/clouds.yaml
cloud       = openstack

[loadbalancer]
Max-Shared-LB          = 3
manage-security-groups = true
";
    assert_eq!(once.text.as_str(), wanted);
}

#[test]
fn a_section_that_is_opened_twice_is_one() {
    let error = refused("[Global]\nregion = a\n[Route]\nrouter-id = r\n[Global]\nsecret-name = other\n");
    assert_eq!(error.line(), Some(6));
    let once = transformed("[Global]\nregion = a\n[Route]\nrouter-id = r\n[global]\nregion = b\n").text;
    assert!(once.starts_with("[Global]\nregion      = a\nregion      = b\nuse-clouds  = true\n"), "{once:?}");
}

#[test]
fn classes_and_comments_stay() {
    let text = "\
# who did this
; and when

# the cloud
[Global] # behind a header
# above a key
region = one # behind a value

# of the class
[LoadBalancerClass \"gold\"]
floating-network-id = abc
# at the end
";
    let wanted = "\
# who did this
; and when

# the cloud
[Global] # behind a header
# above a key
region      = one # behind a value
use-clouds  = true
clouds-file = /etc/openstack/secret/clouds.yaml
cloud       = openstack

# of the class
[LoadBalancerClass \"gold\"]
floating-network-id = abc
# at the end

[LoadBalancer]
max-shared-lb          = 1
manage-security-groups = true
";
    assert_eq!(transformed(text).text.as_str(), wanted);
    assert_eq!(transformed(wanted).text.as_str(), wanted);
}

#[test]
fn load_balancers_that_are_off_stay_off() {
    let once = transformed("[LoadBalancer]\nenabled = false\n").text;
    assert!(once.contains("enabled                = false\n"), "{once:?}");
    assert!(once.contains("max-shared-lb          = 1\n"), "{once:?}");
    let chosen = transformed("[LoadBalancer]\nmanage-security-groups = false\nmax-shared-lb = 2\n").text;
    assert!(chosen.contains("manage-security-groups = false\nmax-shared-lb          = 2\n"), "{chosen:?}");
}

#[test]
fn a_text_that_cannot_be_read_is_told_by_line_and_key() {
    let cases = [
        ("[Global]\nregion = \"open\n", 2, Some("region")),
        ("region = x\n", 1, None),
        ("[Global\n", 1, None),
        ("[Global]\n[LoadBalancer]\nmonitor-delay = soon\n", 3, Some("[LoadBalancer] monitor-delay")),
        ("[LoadBalancer]\nmax-shared-lb = many\n", 2, Some("[LoadBalancer] max-shared-lb")),
        ("[Global]\nos-endpoint-type = other\n", 2, Some("[Global] os-endpoint-type")),
    ];
    for (text, line, key) in cases {
        let error = refused(text);
        assert_eq!((error.line(), error.key()), (Some(line), key), "{error}");
        assert!(error.to_string().starts_with("failed to read the cloud.conf: line "), "{error}");
        assert_eq!(validate_openstack(text).unwrap_err(), error);
    }
}

#[test]
fn what_is_overwritten_or_removed_may_be_wrong() {
    let text = "[Global]\nuse-clouds = perhaps\n[BlockStorage]\nnode-volume-attach-limit = all\n[LoadBalancer]\nuse-octavia = maybe\n";
    assert_eq!(transformed(text).text.as_str(), GOLDEN);
}

#[test]
fn a_key_that_nobody_knows_is_kept_and_a_warning() {
    let once = transformed("[Global]\nregoin = one\n");
    assert!(once.text.starts_with("[Global]\nregoin      = one\n"), "{:?}", once.text);
    let warning = once.warnings.first().unwrap();
    assert_eq!(warning.line, Some(2));
    assert!(warning.what.contains("did you mean region?"), "{warning}");
}

#[test]
fn a_key_without_a_value_keeps_its_comment() {
    let once = transformed("[Networking]\npublic-network-name # none\npublic-network-name = a\n").text;
    let wanted = "[Networking]\npublic-network-name # none\npublic-network-name = a\n\n[Global]\n";
    assert!(once.starts_with(wanted), "{once:?}");
}

#[test]
fn what_is_removed_is_no_warning() {
    assert_eq!(
        transformed("[Global]\nsecret-name = openstack-credentials\n[BlockStorage]\nbs-version = v3\n")
            .warnings,
        []
    );
}

#[test]
fn a_text_used_as_it_is_is_only_checked() {
    let text =
        "[Global]\nauth-url=https://keystone\n\n\nsecret-name = mine\nsecret-namespace = kube-system\n";
    let once = validate_openstack(text).unwrap();
    assert_eq!((once.text.as_str(), once.changes.len()), (text, 0));
}

#[test]
fn names_of_mounts_can_be_chosen() {
    let options = OpenStackOptions {
        clouds_file: "/etc/clouds;x.yaml".to_owned(),
        cloud: "mine".to_owned(),
        ..OpenStackOptions::default()
    };
    let once = transform_openstack("", &Platform::OpenStack, &options).unwrap().text;
    assert!(once.contains("clouds-file = \"/etc/clouds;x.yaml\"\ncloud       = mine\n"), "{once:?}");
}

#[test]
fn a_secret_is_not_in_the_debug_output() {
    let once = transformed("[Global]\npassword = hunter2\n");
    assert!(once.text.contains("hunter2"));
    assert!(!format!("{once:?}").contains("hunter2"));
}

/// Keys that are left alone, with values of the characters that matter.
fn entries() -> impl Strategy<Value = String> {
    let value = prop::collection::vec(
        prop::sample::select(vec!["a", " ", "#", ";", "\"", "\\", "\n", "\t", "=", "[", "]", "é"]),
        0..8,
    );
    let section =
        prop::sample::select(vec!["Global", "global", "Networking", "LoadBalancerClass \"x\"", "Other"]);
    let key = prop::sample::select(vec!["region", "public-network-name", "password", "floating-subnet"]);
    let before = prop::sample::select(vec!["", "# why\n", "\n", "; so\n\n", "\n# first\n# second\n"]);
    let behind = prop::sample::select(vec!["", " # why", ";"]);
    let line = (before, section, key, value, behind).prop_map(|(before, section, key, value, behind)| {
        let value: String = value.concat();
        let written = super::super::ini::quoted(&value);
        format!("{before}[{section}]\n{before}{key} = {}{behind}\n", written.as_str())
    });
    prop::collection::vec(line, 0..6).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn values_survive_and_a_second_pass_changes_nothing(text in entries()) {
        let once = transformed(&text);
        let twice = transformed(&once.text);
        prop_assert_eq!(twice.text.as_str(), once.text.as_str());
        prop_assert!(twice.changes.is_empty());
        let after = said(&once.text);
        let by_section = |all: Vec<(String, String, Option<String>)>, section: &str| -> Vec<_> {
            all.into_iter().filter(|(name, ..)| name == section).collect()
        };
        for (section, ..) in said(&text) {
            let wanted = by_section(said(&text), &section);
            let found = by_section(after.clone(), &section);
            let kept: Vec<_> = found.into_iter().filter(|entry| wanted.contains(entry)).collect();
            prop_assert_eq!(kept, wanted);
        }
    }
}
