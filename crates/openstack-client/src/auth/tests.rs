use secrecy::SecretString;
use serde_json::{Value, json};

use super::{AuthOptions, AuthOptionsError, request_body};

const SECRET: &str = "s3cret-marker";

fn options(pairs: &[(&str, &str)]) -> AuthOptions {
    let mut options =
        AuthOptions { auth_url: Some("https://k.example:5000/v3".into()), ..AuthOptions::default() };
    for (key, value) in pairs {
        let text = Some((*value).to_owned());
        let secret = Some(SecretString::from(*value));
        match *key {
            "auth_url" => options.auth_url = text,
            "username" => options.username = text,
            "user_id" => options.user_id = text,
            "password" => options.password = secret,
            "token" => options.token = secret,
            "project_id" => options.project_id = text,
            "project_name" => options.project_name = text,
            "domain_id" => options.domain_id = text,
            "domain_name" => options.domain_name = text,
            "project_domain_id" => options.project_domain_id = text,
            "project_domain_name" => options.project_domain_name = text,
            "user_domain_id" => options.user_domain_id = text,
            "user_domain_name" => options.user_domain_name = text,
            "default_domain" => options.default_domain = text,
            "ac_id" => options.application_credential_id = text,
            "ac_name" => options.application_credential_name = text,
            "ac_secret" => options.application_credential_secret = secret,
            "trust_id" => options.trust_id = text,
            "trustee_id" => options.trustee_id = text,
            "trustee_password" => options.trustee_password = secret,
            "system_scope" => options.system_scope = text,
            other => panic!("no option {other}"),
        }
    }
    options
}

fn body(pairs: &[(&str, &str)]) -> Value {
    let credentials = options(pairs).resolve().unwrap_or_else(|error| panic!("{pairs:?}: {error}"));
    serde_json::from_slice(&request_body(&credentials).unwrap()).unwrap()
}

fn why(pairs: &[(&str, &str)]) -> AuthOptionsError {
    options(pairs).resolve().map(|_| ()).expect_err(&format!("{pairs:?}"))
}

fn password(mut user: Value, scope: &Value) -> Value {
    user["password"] = json!(SECRET);
    json!({"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}})
}

#[test]
fn a_password_is_asked_for_in_each_form_of_user_and_scope() {
    let by_name = json!({"name": "k8s", "domain": {"id": "default"}});
    for (pairs, user, scope) in [
        (
            vec![
                ("username", "k8s"),
                ("user_domain_id", "default"),
                ("project_id", "p1"),
                ("project_domain_id", "x"),
            ],
            by_name.clone(),
            json!({"project": {"id": "p1"}}),
        ),
        (
            vec![("username", "k8s"), ("domain_id", "default"), ("project_name", "k8s")],
            by_name.clone(),
            json!({"project": {"name": "k8s", "domain": {"id": "default"}}}),
        ),
        (
            vec![
                ("username", "k8s"),
                ("user_domain_name", "Users"),
                ("project_name", "k8s"),
                ("domain_name", "Default"),
            ],
            json!({"name": "k8s", "domain": {"name": "Users"}}),
            json!({"project": {"name": "k8s", "domain": {"name": "Default"}}}),
        ),
        (
            vec![
                ("username", "k8s"),
                ("user_domain_id", "default"),
                ("project_name", "k8s"),
                ("project_domain_id", "d1"),
                ("project_domain_name", "D1"),
            ],
            by_name.clone(),
            json!({"project": {"name": "k8s", "domain": {"id": "d1"}}}),
        ),
        (
            vec![("user_id", "u1"), ("project_name", "k8s"), ("project_domain_name", "Default")],
            json!({"id": "u1"}),
            json!({"project": {"name": "k8s", "domain": {"name": "Default"}}}),
        ),
        (
            vec![("username", "k8s"), ("user_domain_id", "default"), ("domain_id", "d1")],
            by_name.clone(),
            json!({"domain": {"id": "d1"}}),
        ),
        (
            vec![("user_id", "u1"), ("domain_name", "D1")],
            json!({"id": "u1"}),
            json!({"domain": {"name": "D1"}}),
        ),
        (
            vec![("username", "k8s"), ("default_domain", "default"), ("project_name", "k8s")],
            by_name.clone(),
            json!({"project": {"name": "k8s", "domain": {"id": "default"}}}),
        ),
        (
            vec![("username", "k8s"), ("user_domain_id", "default"), ("system_scope", "all")],
            by_name,
            json!({"system": {"all": true}}),
        ),
    ] {
        let pairs: Vec<_> = pairs.into_iter().chain([("password", SECRET)]).collect();
        assert_eq!(body(&pairs), password(user, &scope), "{pairs:?}");
    }
}

#[test]
fn an_application_credential_is_asked_for_without_a_scope() {
    let by_id = json!({"auth": {"identity": {
        "methods": ["application_credential"],
        "application_credential": {"id": "ac1", "secret": SECRET},
    }}});
    assert_eq!(body(&[("ac_id", "ac1"), ("ac_secret", SECRET)]), by_id);
    assert_eq!(
        body(&[("ac_id", "ac1"), ("ac_name", "ccm"), ("ac_secret", SECRET), ("project_name", "k8s")]),
        by_id
    );
    let by_name = |user: Value| {
        json!({"auth": {"identity": {
            "methods": ["application_credential"],
            "application_credential": {"name": "ccm", "secret": SECRET, "user": user},
        }}})
    };
    assert_eq!(
        body(&[("ac_name", "ccm"), ("ac_secret", SECRET), ("username", "k8s"), ("domain_id", "default")]),
        by_name(json!({"name": "k8s", "domain": {"id": "default"}}))
    );
    assert_eq!(
        body(&[("ac_name", "ccm"), ("ac_secret", SECRET), ("user_id", "u1")]),
        by_name(json!({"id": "u1"}))
    );
}

#[test]
fn a_token_is_asked_for_with_a_scope_and_stands_above_a_password() {
    let expected = |scope: Value| json!({"auth": {"identity": {"methods": ["token"], "token": {"id": SECRET}}, "scope": scope}});
    assert_eq!(body(&[("token", SECRET), ("project_id", "p1")]), expected(json!({"project": {"id": "p1"}})));
    assert_eq!(
        body(&[("token", SECRET), ("username", "x"), ("password", "y"), ("domain_id", "d1")]),
        expected(json!({"domain": {"id": "d1"}}))
    );
}

#[test]
fn a_trust_is_the_scope_and_its_trustee_the_user() {
    let scope = json!({"OS-TRUST:trust": {"id": "t1"}});
    assert_eq!(
        body(&[
            ("trust_id", "t1"),
            ("username", "k8s"),
            ("user_domain_id", "default"),
            ("password", SECRET),
            ("token", "ignored"),
            ("project_name", "ignored"),
        ]),
        password(json!({"name": "k8s", "domain": {"id": "default"}}), &scope)
    );
    assert_eq!(
        body(&[
            ("trust_id", "t1"),
            ("user_id", "u1"),
            ("password", "x"),
            ("trustee_id", "u2"),
            ("trustee_password", SECRET)
        ]),
        password(json!({"id": "u2"}), &scope)
    );
}

#[test]
fn options_that_contradict_each_other_or_lack_something_are_refused_by_name() {
    use AuthOptionsError as E;
    let user_id = ("user_id", "u1");
    let (name, password, project) = (("username", "k8s"), ("password", SECRET), ("project_id", "p1"));
    assert_eq!(why(&[]), E::NoMethod);
    assert_eq!(why(&[name, ("user_domain_id", "d"), project]), E::NoMethod);
    assert_eq!(why(&[password, project]), E::NoUser("a password"));
    assert_eq!(why(&[password, project, name, user_id]), E::TwoUsers);
    assert_eq!(why(&[password, project, name]), E::NoUserDomain);
    assert!(matches!(
        why(&[password, project, name, ("user_domain_id", "a"), ("user_domain_name", "b")]),
        E::UserDomain(_)
    ));
    assert!(matches!(why(&[password, project, user_id, ("user_domain_id", "a")]), E::UserDomain(_)));
    assert_eq!(why(&[password, user_id, ("project_name", "k8s")]), E::NoProjectDomain);
    assert_eq!(why(&[password, user_id]), E::NoScope("a password"));
    assert_eq!(why(&[("token", SECRET)]), E::NoScope("a token"));
    assert_eq!(why(&[("ac_id", "ac1")]), E::NoSecret);
    assert_eq!(why(&[("ac_secret", SECRET)]), E::NoMethod);
    assert_eq!(
        why(&[("ac_name", "n"), ("ac_secret", SECRET)]),
        E::NoUser("an application credential by name")
    );
    assert_eq!(why(&[("ac_id", "ac1"), ("ac_secret", SECRET), password, name]), E::TwoMethods("a password"));
    assert_eq!(why(&[("ac_id", "ac1"), ("ac_secret", SECRET), ("token", "t")]), E::TwoMethods("a token"));
    assert_eq!(why(&[("ac_id", "ac1"), ("ac_secret", SECRET), ("trust_id", "t")]), E::ScopedTwice("a trust"));
    assert_eq!(why(&[("trust_id", "t"), password, name, ("trustee_id", "u2")]), E::TwoUsers);
    assert_eq!(why(&[("auth_url", "https://k/v2.0"), password, user_id, project]), E::IdentityV2);
    assert!(matches!(why(&[("auth_url", ""), password, user_id, project]), E::AuthUrl(_)));
}

#[test]
fn an_empty_option_is_the_same_as_none() {
    let expected = json!({"auth": {"identity": {
        "methods": ["application_credential"],
        "application_credential": {"id": "ac1", "secret": SECRET},
    }}});
    assert_eq!(
        body(&[("ac_id", "ac1"), ("ac_secret", SECRET), ("password", ""), ("token", ""), ("trust_id", "")]),
        expected
    );
}

#[test]
fn a_domain_that_only_stands_in_is_no_contradiction_to_a_user_id() {
    let found =
        body(&[("user_id", "u1"), ("password", SECRET), ("domain_id", "d1"), ("project_name", "k8s")]);
    assert_eq!(
        found,
        password(json!({"id": "u1"}), &json!({"project": {"name": "k8s", "domain": {"id": "d1"}}}))
    );
}

#[test]
fn what_is_written_first_wins_and_gaps_are_filled() {
    let file = options(&[("username", "file"), ("password", "")]);
    let cloud = options(&[
        ("auth_url", "https://other/v3"),
        ("username", "cloud"),
        ("password", "cloud"),
        ("domain_id", "d"),
    ]);
    let merged = file.or(&cloud);
    assert_eq!(merged.auth_url.as_deref(), Some("https://k.example:5000/v3"));
    assert_eq!((merged.username.as_deref(), merged.domain_id.as_deref()), (Some("file"), Some("d")));
    assert_eq!(secrecy::ExposeSecret::expose_secret(&merged.password.unwrap()), "cloud");
}

#[test]
fn secrets_are_never_shown() {
    for pairs in [
        vec![("username", "k8s"), ("domain_id", "d"), ("project_name", "p"), ("password", SECRET)],
        vec![("token", SECRET), ("project_id", "p")],
        vec![("ac_id", "a"), ("ac_secret", SECRET)],
        vec![("trust_id", "t"), ("trustee_id", "u"), ("trustee_password", SECRET)],
    ] {
        let options = options(&pairs);
        let shown = format!("{options:?} {:#?}", options.resolve().unwrap());
        assert!(!shown.contains(SECRET) && shown.contains("REDACTED"), "{shown}");
    }
}
