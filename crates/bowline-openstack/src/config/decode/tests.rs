//! Files that people write, and what they are told.

use secrecy::ExposeSecret;

use super::*;

fn read(text: &str) -> Decoded {
    decode(&[Source::new("cloud.conf", text)]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn errors(text: &str) -> Vec<String> {
    let problems = decode(&[Source::new("cloud.conf", text)]).unwrap_err();
    problems.0.iter().map(ToString::to_string).collect()
}

fn warnings(text: &str) -> Vec<String> {
    read(text).warnings.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn only_warning(text: &str) -> String {
    let mut found = warnings(text);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_typical_file_is_read_without_a_warning() {
    let Decoded { conf, warnings } = read(
        "[Global]\nauth-url=https://k:5000/v3\nusername=u\npassword=\"p#1\"\nregion=R\n[LoadBalancer]\ncreate-monitor\nmonitor-delay=10s\n[LoadBalancerClass \"dmz\"]\nsubnet-id=s\n[Networking]\npublic-network-name=a\npublic-network-name=b\n[Route]\nrouter-id=r\n",
    );
    assert_eq!(warnings, []);
    assert_eq!(conf.global.password.unwrap().expose_secret(), "p#1");
    assert!(conf.load_balancer.create_monitor);
    assert_eq!(conf.classes["dmz"].subnet_id, "s");
    assert_eq!(conf.networking.public_network_names, ["a", "b"]);
    assert_eq!(conf.route.router_id, "r");
}

#[test]
fn all_errors_are_told_at_once_with_file_line_column_and_key() {
    let found = errors(
        "x=1\n[Global]\nauth_url=x\nusername\nuse-clouds=maybe\n[LoadBalancer]\nmonitor-delay = 5\nmax-shared-lb=two\nlb-version=v1\n[LoadBalancerClass \"a\"]\nsubnet-id\n[Metadata]\nsearch-order=cloud\n",
    );
    let starts = [
        "cloud.conf:1:1: a section header",
        "cloud.conf:3:5: auth: the character '_'",
        "cloud.conf:4:1: [Global] username: it needs a value",
        "cloud.conf:5:12: [Global] use-clouds: wanted one of true",
        "cloud.conf:7:17: [LoadBalancer] monitor-delay: wanted a time with its unit",
        "cloud.conf:8:15: [LoadBalancer] max-shared-lb: wanted a whole number",
        "cloud.conf:11:1: [LoadBalancerClass \"a\"] subnet-id: it needs a value",
        "cloud.conf:13:1: [Metadata] search-order: wanted at most two",
        "cloud.conf:9:1: [LoadBalancer] lb-version: wanted v2",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for start in starts {
        assert!(found.iter().any(|line| line.starts_with(start)), "{start}: {found:#?}");
    }
}

#[test]
fn what_is_misspelt_is_a_warning_with_a_suggestion() {
    for (text, wanted) in [
        (
            "[Global]\nauth-ulr=x\n",
            "cloud.conf:2:1: it is not used: [Global] has no key \"auth-ulr\"; did you mean auth-url?",
        ),
        (
            "[Load-Balancer]\nenabled=no\n",
            "cloud.conf:1:2: it is not used: no section is called [Load-Balancer]; did you mean LoadBalancer?",
        ),
        (
            "[Global]\nsubnet-id=x\n",
            "cloud.conf:2:1: it is not used: [Global] has no key \"subnet-id\"; [LoadBalancer] has it",
        ),
        (
            "[Global]\nnothing-like-it=x\n",
            "cloud.conf:2:1: it is not used: [Global] has no key \"nothing-like-it\"",
        ),
        (
            "[LoadBalancer \"x\"]\nenabled=no\n",
            "cloud.conf:1:2: it is not used: [LoadBalancer] has no sub-sections",
        ),
    ] {
        assert_eq!(only_warning(text), wanted);
    }
}

#[test]
fn keys_of_the_provider_in_kubernetes_are_known_and_have_no_effect() {
    let found = warnings("[BlockStorage]\nbs-version=v3\n[LoadBalancer]\nuse-octavia=true\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|line| line.contains("it has no effect")), "{found:?}");
}

#[test]
fn what_may_be_a_secret_is_never_quoted() {
    let warning = only_warning("[Global]\npassword=\nhunter2\n");
    assert!(warning.starts_with("cloud.conf:3:1: ") && !warning.contains("hunter2"), "{warning}");
    for text in [
        "hunter2\n",
        "hunter2=x\n",
        "[Global]\npassword=hunter2\\x\n",
        "[Global]\npassword=\"hunter2\n",
        "[Global]\npassword\nuse-clouds=maybe\n",
    ] {
        assert!(!errors(text).join("\n").contains("hunter2"), "{text}");
    }
    let problems = decode(&[Source::new("cloud.conf", "[Global]\nusername=\"hunter2\n")]).unwrap_err();
    assert!(!format!("{problems:?}").contains("hunter2"));
}

#[test]
fn a_value_that_a_comment_cuts_is_a_warning() {
    let warning = only_warning("[Global]\npassword=abc#def\n");
    assert!(warning.starts_with("cloud.conf:2:10: [Global] password: a comment begins"), "{warning}");
}

#[test]
fn certificates_that_only_octavia_knows_are_not_doubtful() {
    let text = "[LoadBalancer]\ncontainer-store=external\n";
    assert_eq!(decode(&[Source::new("cloud.conf", text)]).unwrap().warnings, []);
}

#[test]
fn doubtful_values_are_warnings() {
    for (text, key) in [
        ("[LoadBalancer]\nlb-provider=haproxy\n", "lb-provider"),
        ("[LoadBalancer]\ncontainer-store=vault\n", "container-store"),
        ("[LoadBalancer]\nlb-provider=ovn\n", "lb-method"),
        ("[LoadBalancer]\nmax-shared-lb=-1\n", "max-shared-lb"),
        ("[LoadBalancer]\nmonitor-timeout=9s\n", "monitor-timeout"),
        ("[LoadBalancer]\nmonitor-max-retries=11\n", "monitor-max-retries"),
        ("[LoadBalancer]\nmonitor-max-retries-down=0\n", "monitor-max-retries-down"),
        ("[Metadata]\nrequest-timeout=-1s\n", "request-timeout"),
        ("[Global]\ntls-insecure=True\n", "tls-insecure"),
        ("[Global]\ncert-file=a\n", "cert-file"),
        ("[Global]\nkey-file=a\n", "key-file"),
        ("[Global]\ncloud=a\n", "cloud"),
        ("[Global]\nsecret-name=a\n", "secret-name"),
        ("[Global]\nsecret-namespace=a\n", "secret-namespace"),
        ("[Networking]\naddress-sort-order=10.0.0.0/8, rubbish\n", "address-sort-order"),
    ] {
        let warning = only_warning(text);
        assert!(warning.contains(&format!("] {key}: ")), "{warning}");
    }
}

#[test]
fn a_class_without_a_name_is_kept_and_told() {
    let Decoded { conf, warnings } = read("[LoadBalancerClass]\nsubnet-id=s\n");
    assert_eq!(conf.classes[""].subnet_id, "s");
    assert_eq!(warnings.len(), 1);
}

#[test]
fn the_metadata_order_is_checked_as_occm_does() {
    for good in ["configDrive", "metadataService , configDrive", "\"\"", "configDrive,configDrive"] {
        read(&format!("[Metadata]\nsearch-order={good}\n"));
    }
    for bad in ["configdrive", "configDrive,metadataService,configDrive", "configDrive,", "x"] {
        assert_eq!(errors(&format!("[Metadata]\nsearch-order={bad}\n")).len(), 1, "{bad}");
    }
    assert_eq!(read("[Metadata]\nsearch-order=\n").conf.metadata.search_order, "configDrive,metadataService");
}

#[test]
fn a_timeout_of_zero_is_the_default() {
    for text in ["0", "0s", "-5s"] {
        let conf = read(&format!("[Metadata]\nrequest-timeout={text}\n")).conf;
        assert_eq!(conf.metadata.request_timeout.as_secs(), 60, "{text}");
    }
}

#[test]
fn the_interface_is_one_of_three() {
    for good in ["public", "internal", "admin"] {
        assert_eq!(read(&format!("[Global]\nos-endpoint-type={good}\n")).conf.global.endpoint_type, good);
    }
    assert_eq!(errors("[Global]\nos-endpoint-type=internalURL\n").len(), 1);
}

#[test]
fn a_wrong_version_does_not_matter_without_load_balancers() {
    read("[LoadBalancer]\nenabled=no\nlb-version=v1\n");
}

#[test]
fn later_files_win_and_lists_grow() {
    let conf = decode(&[
        Source::new(
            "a",
            "[Global]\nusername=a\nregion=r\n[Networking]\npublic-network-name=x\ninternal-network-name=i\n",
        ),
        Source::new(
            "b",
            "[Global]\nusername=b\n[Networking]\npublic-network-name=y\ninternal-network-name\n",
        ),
    ])
    .unwrap()
    .conf;
    assert_eq!((conf.global.username.as_str(), conf.global.region.as_str()), ("b", "r"));
    assert_eq!(conf.networking.public_network_names, ["x", "y"]);
    assert!(conf.networking.internal_network_names.is_empty());
}

#[test]
fn a_section_does_not_reach_into_the_next_file() {
    let problems = decode(&[Source::new("a", "[Global]\n"), Source::new("b", "username=b\n")]).unwrap_err();
    assert!(problems.to_string().starts_with("b:1:1: "), "{problems}");
}

#[test]
fn a_file_of_noise_is_told_in_fifty_lines() {
    let problems = decode(&[Source::new("noise", "!\n".repeat(1000))]).unwrap_err();
    let text = problems.to_string();
    assert_eq!(text.lines().count(), 51);
    assert!(text.ends_with("and 950 more"), "{text}");
}

#[test]
fn a_misspelled_tenancy_section_is_an_error_and_any_other_unknown_section_a_warning() {
    for name in ["Tenency", "Tenncy", "tenancys", "Tennancy", "Tenacy", "Tenant", "TenancyRules"] {
        let found = errors(&format!("[{name} \"team-a\"]\nclass = none\n"));
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].contains(&format!("no section is called [{name}]")), "{found:?}");
    }
    for name in ["VMware", "Keystone", "LoadBalancers", "Global2", "ten"] {
        let warning = only_warning(&format!("[{name}]\nclass = none\n"));
        assert!(warning.contains(&format!("no section is called [{name}]")), "{warning}");
    }
}

#[test]
fn the_rules_of_a_namespace_are_read_and_a_misspelled_one_is_an_error() {
    let text = "[Tenancy \"team-*\"]\nflavor-id = small\nflavor-id = large\njoin-namespace\nshare-load-balancers = no\n[Tenancy]\nclass = none\n";
    let rules = decode(&[Source::new("cloud.conf", text)]).unwrap().conf.tenancy;
    let team = &rules.0["team-*"];
    assert_eq!(team.flavor_id.as_deref().unwrap(), ["small", "large"]);
    assert_eq!((team.join_namespaces.as_deref(), team.share_load_balancers), (Some(&[][..]), Some(false)));
    assert_eq!((rules.0[""].class.as_deref().unwrap().len(), team.class.as_ref()), (1, None));
    for wrong in [
        "[Tenancy \"team_a\"]\n",
        "[Tenancy \"Team\"]\nclass = none\n",
        "[Tenancy \"a\"]\nflavour-id = small\n",
        "[Tenancy \"a\"]\nflavor-id =\n",
        "[Tenancy \"a\"]\nfloating-ip = 192.0.2\n",
        "[Tenancy \"a\"]\njoin-namespace = a_b\n",
    ] {
        let problems = decode(&[Source::new("cloud.conf", wrong)]).unwrap_err();
        assert!(problems.0[0].position.is_some(), "{wrong}: {problems}");
    }
}
