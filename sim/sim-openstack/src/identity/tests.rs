//! Logging in, tokens that end, application credentials, trusts, policy.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::seed::testing::{Bench, ROOT};
use crate::seed::{ADMIN, MEMBER};

fn token_with(bench: &mut Bench, identity: &Value, scope: Option<Value>) -> crate::seed::testing::Answer {
    let mut auth = json!({"identity": identity});
    if let Some(scope) = scope {
        auth["scope"] = scope;
    }
    bench.send(Method::POST, "/identity/v3/auth/tokens", &[], Some(&json!({"auth": auth})))
}

#[test]
fn a_password_gives_a_token_with_roles_and_a_catalog() {
    let mut bench = Bench::new();
    let answer = bench.authenticate(MEMBER.user, MEMBER.password, MEMBER.project);
    assert_eq!(answer.status, StatusCode::CREATED);
    let token = &answer.body["token"];
    assert_eq!(token["project"]["name"], "k8s");
    let roles: Vec<&str> =
        token["roles"].as_array().unwrap().iter().map(|role| role["name"].as_str().unwrap()).collect();
    assert!(roles.contains(&"member") && roles.contains(&"reader"), "member implies reader: {roles:?}");
    let catalog = token["catalog"].as_array().unwrap();
    let compute = catalog.iter().find(|entry| entry["type"] == "compute").unwrap();
    assert_eq!(compute["endpoints"][0]["url"], format!("{ROOT}/compute/v2.1"));
}

#[test]
fn a_wrong_password_a_wrong_project_and_an_unknown_user_are_refused_alike() {
    let mut bench = Bench::new();
    for (user, password, project) in [
        ("k8s", "wrong", "k8s"),
        ("k8s", MEMBER.password, "nowhere"),
        ("nobody", "x", "k8s"),
        ("k8s", MEMBER.password, "admin"),
    ] {
        let answer = bench.authenticate(user, password, project);
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{user} {project}");
        assert_eq!(answer.body["error"]["message"], "The request you have made requires authentication.");
        assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Keystone uri="));
    }
}

#[test]
fn tokens_end_with_time_and_when_they_are_revoked() {
    let mut bench = Bench::new();
    assert_eq!(bench.get("/network/v2.0/networks").status, StatusCode::OK);
    bench.pass(3599.0);
    assert_eq!(bench.get("/network/v2.0/networks").status, StatusCode::OK);
    bench.pass(2.0);
    assert_eq!(bench.get("/network/v2.0/networks").status, StatusCode::UNAUTHORIZED);
    bench.token = bench.login(MEMBER);
    let token = bench.token.clone();
    let revoked =
        bench.send(Method::DELETE, "/identity/v3/auth/tokens", &[("x-subject-token", &token)], None);
    assert_eq!(revoked.status, StatusCode::NO_CONTENT);
    assert_eq!(bench.get("/compute/v2.1/servers").status, StatusCode::UNAUTHORIZED);
}

#[test]
fn an_application_credential_logs_in_by_id_or_name_and_not_with_a_scope() {
    let mut bench = Bench::new();
    let user = bench.estate.user.clone();
    let path = format!("/identity/v3/users/{user}/application_credentials");
    let made = bench.post(&path, &json!({"application_credential": {"name": "ccm"}}));
    assert_eq!(made.status, StatusCode::CREATED);
    let credential = &made.body["application_credential"];
    let (id, secret) = (credential["id"].clone(), credential["secret"].clone());
    let by_id = json!({"methods": ["application_credential"], "application_credential": {"id": id, "secret": secret}});
    let answer = token_with(&mut bench, &by_id, None);
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.body["token"]["application_credential"]["restricted"], true);
    let named = json!({"name": "ccm", "secret": secret, "user": {"id": user}});
    let by_name = json!({"methods": ["application_credential"], "application_credential": named});
    assert_eq!(token_with(&mut bench, &by_name, None).status, StatusCode::CREATED);
    let scope = json!({"project": {"id": bench.estate.project}});
    let scoped = token_with(&mut bench, &by_id, Some(scope));
    assert_eq!(scoped.status, StatusCode::UNAUTHORIZED);
    assert!(scoped.body["error"]["message"].as_str().unwrap().contains("cannot request a scope"));
    assert_eq!(
        bench.post(&path, &json!({"application_credential": {"name": "ccm"}})).status,
        StatusCode::CONFLICT
    );
    bench.delete(&format!("{path}/{}", id.as_str().unwrap()));
    let deleted = token_with(&mut bench, &by_id, None);
    assert_eq!(deleted.status, StatusCode::NOT_FOUND);
    let said = deleted.body["error"]["message"].as_str().unwrap();
    assert_eq!(said, format!("Could not find Application Credential: {}.", id.as_str().unwrap()));
    assert_eq!(token_with(&mut bench, &by_name, None).status, StatusCode::UNAUTHORIZED);
}

#[test]
fn a_trust_lets_another_user_act_in_the_project_until_it_is_gone() {
    let mut bench = Bench::new();
    let (user, admin, project) =
        (bench.estate.user.clone(), bench.estate.admin_user.clone(), bench.estate.project.clone());
    let trust = json!({"trust": {
        "trustor_user_id": user, "trustee_user_id": admin, "project_id": project, "impersonation": true,
        "roles": [{"name": "member"}],
    }});
    let made = bench.post("/identity/v3/OS-TRUST/trusts", &trust);
    assert_eq!(made.status, StatusCode::CREATED);
    let id = made.body["trust"]["id"].as_str().unwrap().to_owned();
    let password = json!({"user": {"id": admin, "password": ADMIN.password}});
    let identity = json!({"methods": ["password"], "password": password});
    let scope = json!({"OS-TRUST:trust": {"id": id}});
    let answer = token_with(&mut bench, &identity, Some(scope.clone()));
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.body["token"]["user"]["id"], user.as_str());
    assert_eq!(answer.body["token"]["project"]["id"], project.as_str());
    assert_eq!(bench.delete(&format!("/identity/v3/OS-TRUST/trusts/{id}")).status, StatusCode::NO_CONTENT);
    assert_eq!(token_with(&mut bench, &identity, Some(scope)).status, StatusCode::UNAUTHORIZED);
}

#[test]
fn a_token_gives_another_token_and_a_member_may_not_list_projects() {
    let mut bench = Bench::new();
    let token = bench.token.clone();
    let identity = json!({"methods": ["token"], "token": {"id": token}});
    let scope = json!({"project": {"id": bench.estate.project}});
    let answer = token_with(&mut bench, &identity, Some(scope));
    assert_eq!(answer.body["token"]["methods"], json!(["password", "token"]));
    assert_eq!(bench.get("/identity/v3/projects").status, StatusCode::FORBIDDEN);
    let listed = bench.as_admin(|bench| bench.get("/identity/v3/projects?name=k8s"));
    assert_eq!(listed.body["projects"].as_array().unwrap().len(), 1);
}

#[test]
fn discovery_needs_no_token() {
    let mut bench = Bench::new();
    bench.token = String::new();
    assert_eq!(bench.get("/identity").status, StatusCode::MULTIPLE_CHOICES);
    assert_eq!(bench.get("/identity/v3").body["version"]["id"], "v3.14");
    assert_eq!(bench.get("/compute/v2.1/").body["version"]["version"], "2.104");
    assert_eq!(bench.get("/network/").body["versions"][0]["id"], "v2.0");
}
