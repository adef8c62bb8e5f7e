//! What the files say, which of them wins, and what is never quoted.

use std::fs;

use secrecy::ExposeSecret;
use zeroize::Zeroizing;

use super::{CloudEntry, CloudsError, Documents, Search};
use crate::AuthOptions;

fn documents(clouds: &str, secure: Option<&str>, public: Option<&str>) -> Documents {
    let text = |text: &str| Zeroizing::new(text.to_owned());
    Documents {
        clouds: text(clouds),
        secure: secure.map(text),
        public: public.map(text),
        ..Documents::default()
    }
}

const CLOUDS: &str = "
clouds:
  one:
    auth:
      auth_url: https://one.example/v3
      username: k8s
      project_name: k8s
      user_domain_name: Default
      project_domain_id: default
    region_name: RegionOne
    endpoint_type: internal
    cacert: /etc/ca.pem
    cert: /etc/cert.pem
    key: /etc/key.pem
    verify: false
    identity_api_version: 3
    regions: [RegionOne, {name: RegionTwo}]
  two:
    profile: vendor
    auth:
      application_credential_id: ac1
      application_credential_secret: 0123456
";

#[test]
fn an_entry_is_read_with_all_that_matters() {
    let secure = "clouds: {one: {auth: {password: 'p@ss: word'}}}";
    let entry = documents(CLOUDS, Some(secure), None).entry(Some("one")).unwrap();
    assert_eq!(entry.auth.auth_url.as_deref(), Some("https://one.example/v3"));
    assert_eq!(entry.auth.password.as_ref().unwrap().expose_secret(), "p@ss: word");
    assert_eq!((entry.region.as_deref(), entry.interface.as_deref()), (Some("RegionOne"), Some("internal")));
    assert_eq!(entry.ca_file.as_deref(), Some("/etc/ca.pem"));
    assert_eq!(
        (entry.cert_file.as_deref(), entry.key_file.as_deref()),
        (Some("/etc/cert.pem"), Some("/etc/key.pem"))
    );
    assert_eq!(entry.verify, Some(false));
    assert!(entry.auth.resolve().is_ok());
}

#[test]
fn a_profile_fills_gaps_and_secrets_that_look_like_numbers_keep_their_digits() {
    let public =
        "public-clouds: {vendor: {region_name: V1, auth: {auth_url: 'https://v.example/v3', username: v}}}";
    let entry = documents(CLOUDS, None, Some(public)).entry(Some("two")).unwrap();
    assert_eq!(entry.region.as_deref(), Some("V1"));
    assert_eq!(entry.auth.auth_url.as_deref(), Some("https://v.example/v3"));
    assert_eq!(entry.auth.application_credential_secret.unwrap().expose_secret(), "0123456");
}

/// cloud.conf wins over secure.yaml, over clouds.yaml, over clouds-public.yaml, over the environment.
#[test]
fn the_order_of_precedence_is_as_documented() {
    let layer = |root: &str, name: &str| {
        format!(
            "{root}: {{c: {{profile: c, region_name: {name}, auth: {{username: {name}, project_name: {name}}}}}}}"
        )
    };
    let (clouds, secure, public) =
        (layer("clouds", "clouds"), layer("clouds", "secure"), layer("public-clouds", "public"));
    let environment =
        AuthOptions::from_variables(|name| (name == "OS_USERNAME").then(|| "environment".to_owned()));
    let conf = AuthOptions { username: Some("conf".into()), ..AuthOptions::default() };
    let none = "clouds: {c: {profile: c}}".to_owned();
    let no_public = "public-clouds: {c: }".to_owned();
    for (conf, secure, clouds, public, expected) in [
        (conf, Some(&secure), &clouds, &public, "conf"),
        (AuthOptions::default(), Some(&secure), &clouds, &public, "secure"),
        (AuthOptions::default(), None, &clouds, &public, "clouds"),
        (AuthOptions::default(), None, &none, &public, "public"),
        (AuthOptions::default(), None, &none, &no_public, "environment"),
    ] {
        let entry = documents(clouds, secure.map(String::as_str), Some(public)).entry(Some("c")).unwrap();
        let merged = conf.or(&entry.auth).or(&environment);
        assert_eq!(merged.username.as_deref(), Some(expected));
    }
}

#[test]
fn the_variables_of_the_command_line_are_read_with_their_old_names() {
    let options = AuthOptions::from_variables(|name| match name {
        "OS_AUTH_URL" => Some("https://k/v3".into()),
        "OS_TENANT_NAME" => Some("old".into()),
        "OS_PROJECT_ID" => Some(String::new()),
        "OS_USERNAME" => Some("u".into()),
        "OS_PASSWORD" => Some("s3cret".into()),
        "OS_DEFAULT_DOMAIN" => Some("default".into()),
        _ => None,
    });
    assert_eq!((options.project_name.as_deref(), options.project_id.as_deref()), (Some("old"), None));
    assert!(options.resolve().is_ok());
    assert!(!format!("{options:?}").contains("s3cret"));
}

#[test]
fn the_only_cloud_needs_no_name_and_a_missing_one_is_named() {
    let only = documents("clouds: {a: {region_name: R}}", None, None);
    assert_eq!(only.entry(None).unwrap().name, "a");
    assert_eq!(only.entry(Some("")).unwrap().name, "a");
    let error = documents(CLOUDS, None, None).entry(None).unwrap_err();
    assert_eq!(error, CloudsError::NoChoice { count: 2 });
    let by_secure = documents(CLOUDS, Some("clouds: {one: {}}"), None).entry(None).unwrap();
    assert_eq!(by_secure.name, "one");
    let error = documents(CLOUDS, None, None).entry(Some("three")).unwrap_err().to_string();
    assert!(error.contains("\"three\"") && error.contains("one, two"), "{error}");
    let error = documents(CLOUDS, None, None).entry(Some("two")).unwrap_err();
    assert_eq!(error, CloudsError::NoProfile { name: "two".into(), profile: "vendor".into() });
}

#[test]
fn an_entry_without_auth_is_no_panic_but_lacks_credentials() {
    for text in ["clouds: {a: {region_name: R}}", "clouds: {a: }", "clouds: {a: {auth: }}"] {
        let entry: CloudEntry = documents(text, None, None).entry(Some("a")).unwrap();
        assert!(entry.auth.resolve().is_err());
    }
    assert!(documents("", None, None).entry(Some("a")).is_err());
}

#[test]
fn nothing_of_a_broken_file_is_quoted() {
    for broken in [
        "clouds: s3cret-marker",
        "clouds: {a: {auth: {password: [s3cret-marker]}}}",
        "clouds:\n  a:\n    auth:\n      password: s3cret-marker\n     bad: [",
        "clouds: {a: {verify: s3cret-marker}}",
        "clouds: {a: {auth: {password: \"s3cret-marker}}}",
    ] {
        let error = documents(broken, None, None).entry(Some("a")).map(|_| ()).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    let entry = documents("clouds: {a: {auth: {password: s3cret-marker}}}", None, None).entry(None).unwrap();
    assert!(!format!("{entry:?}").contains("s3cret"));
}

#[test]
fn files_are_found_in_their_order_and_a_named_one_that_is_missing_is_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let directory = |name: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let (work, home) = (directory("work"), directory("home"));
    let search =
        Search { file: Some(root.path().join("none.yaml")), directories: vec![work.clone(), home.clone()] };
    let error = search.load(None).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("none.yaml") && error.contains("clouds.yml"), "{error}");
    let write = |path: &std::path::Path, region: &str| {
        fs::write(path, format!("clouds: {{a: {{region_name: {region}}}}}")).unwrap();
    };
    let found = || search.load(None).unwrap().region.unwrap();
    write(&work.join("clouds.yml"), "work-yml");
    assert_eq!(found(), "work-yml");
    write(&home.join("clouds.yaml"), "home-yaml");
    assert_eq!(found(), "home-yaml");
    write(&work.join("clouds.yaml"), "work-yaml");
    assert_eq!(found(), "work-yaml");
    write(&root.path().join("none.yaml"), "named");
    assert_eq!(found(), "named");
    fs::write(home.join("secure.yaml"), "clouds: {a: {region_name: secure}}").unwrap();
    assert_eq!(found(), "secure");
}

#[test]
fn a_place_that_cannot_be_looked_at_is_passed_over_and_a_named_file_is_not() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("no-directory");
    fs::write(&file, "").unwrap();
    fs::write(root.path().join("clouds.yaml"), "clouds: {a: {region_name: found}}").unwrap();
    let search = Search { file: None, directories: vec![file.clone(), root.path().to_owned()] };
    assert_eq!(search.load(None).unwrap().region.unwrap(), "found");
    let named = search.file(file.join("clouds.yaml"));
    assert!(matches!(named.load(None), Err(CloudsError::Unreadable { .. })));
}

#[test]
fn the_usual_places_follow_the_environment() {
    let search = Search::usual(|name| match name {
        "HOME" => Some("/home/u".into()),
        "OS_CLIENT_CONFIG_FILE" => Some("/x/c.yaml".into()),
        _ => None,
    });
    assert_eq!(search.file.unwrap().to_str(), Some("/x/c.yaml"));
    let places: Vec<_> = search.directories.iter().map(|path| path.display().to_string()).collect();
    assert_eq!(places, [".", "/home/u/.config/openstack", "/etc/openstack"]);
}
