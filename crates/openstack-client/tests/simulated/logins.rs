//! Every way to log in, at a Keystone that checks it.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use openstack_client::{
    AuthOptions, Client, ErrorClass, Service as ServiceType, Settings, Timeouts, Transport,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use sim_openstack::{Config, MEMBER, SimService};
use tower::ServiceExt;

use crate::Simulation;

/// Asks Keystone for something that the client has no call for.
async fn raw(sim: &SimService, path: &str, token: &str, body: &Value) -> (Option<String>, Value) {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("http://openstack.sim/identity/v3/{path}"))
        .header("content-type", "application/json")
        .header("x-auth-token", token)
        .body(Full::<Bytes>::from(body.to_string()))
        .unwrap();
    let response = sim.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 201, "{path}");
    let token = response.headers().get("x-subject-token").map(|value| value.to_str().unwrap().to_owned());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (token, serde_json::from_slice(&body).unwrap())
}

/// A token of the member, for the project.
async fn member_token(simulation: &Simulation) -> String {
    let body = json!({"auth": {
        "identity": {"methods": ["password"], "password": {"user": {"id": simulation.estate.user, "password": MEMBER.password}}},
        "scope": {"project": {"id": simulation.estate.project}},
    }});
    raw(&simulation.sim, "auth/tokens", "", &body).await.0.unwrap()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

fn secret(text: &str) -> Option<SecretString> {
    Some(SecretString::from(text))
}

async fn login(simulation: &Simulation, options: AuthOptions) -> Result<(), openstack_client::Error> {
    let options = AuthOptions { auth_url: Some("http://openstack.sim/identity".into()), ..options };
    let transport = Transport::new(simulation.sim.clone(), Timeouts::default());
    let client = Client::new(transport, Settings::new(options.resolve().unwrap()));
    let identity = client.identity().await?;
    assert_eq!(identity.project_id.unwrap().as_str(), simulation.estate.project);
    assert!(client.has(ServiceType::LoadBalancer).await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_password_opens_the_project_by_names_and_by_ids() {
    let simulation = Simulation::new(Config::default(), 1);
    let (user, project) = (&simulation.estate.user, &simulation.estate.project);
    let password = secret(MEMBER.password);
    let named = AuthOptions {
        username: Some(MEMBER.user.into()),
        project_name: Some(MEMBER.project.into()),
        password,
        ..AuthOptions::default()
    };
    login(&simulation, AuthOptions { domain_id: Some("default".into()), ..named.clone() }).await.unwrap();
    let by_domain_name = AuthOptions {
        user_domain_name: Some("Default".into()),
        project_domain_name: Some("Default".into()),
        ..named.clone()
    };
    login(&simulation, by_domain_name).await.unwrap();
    let by_ids = AuthOptions {
        username: None,
        project_name: None,
        user_id: Some(user.clone()),
        project_id: Some(project.clone()),
        ..named.clone()
    };
    login(&simulation, by_ids.clone()).await.unwrap();
    let wrong = AuthOptions { password: secret("wrong"), ..by_ids };
    assert_eq!(login(&simulation, wrong).await.unwrap_err().class(), ErrorClass::Unauthenticated);
}

#[tokio::test(start_paused = true)]
async fn an_application_credential_opens_its_project_by_id_and_by_name() {
    let simulation = Simulation::new(Config::default(), 1);
    let token = member_token(&simulation).await;
    let path = format!("users/{}/application_credentials", simulation.estate.user);
    let (_, made) =
        raw(&simulation.sim, &path, &token, &json!({"application_credential": {"name": "ccm"}})).await;
    let made = &made["application_credential"];
    let by_id = AuthOptions {
        application_credential_id: text(&made["id"]),
        application_credential_secret: secret(made["secret"].as_str().unwrap()),
        ..AuthOptions::default()
    };
    login(&simulation, by_id.clone()).await.unwrap();
    let by_name = AuthOptions {
        application_credential_id: None,
        application_credential_name: Some("ccm".into()),
        username: Some(MEMBER.user.into()),
        user_domain_id: Some("default".into()),
        ..by_id.clone()
    };
    login(&simulation, by_name).await.unwrap();
    let wrong = AuthOptions { application_credential_secret: secret("wrong"), ..by_id };
    assert_eq!(login(&simulation, wrong).await.unwrap_err().class(), ErrorClass::Unauthenticated);
}

#[tokio::test(start_paused = true)]
async fn a_token_and_a_trust_open_the_project() {
    let simulation = Simulation::new(Config::default(), 1);
    let token = member_token(&simulation).await;
    let by_token = AuthOptions {
        token: secret(&token),
        project_id: Some(simulation.estate.project.clone()),
        ..AuthOptions::default()
    };
    login(&simulation, by_token).await.unwrap();
    let user = &simulation.estate.user;
    let trust = json!({"trust": {"trustor_user_id": user, "trustee_user_id": user, "impersonation": true,
        "project_id": simulation.estate.project, "roles": [{"name": "member"}, {"name": "load-balancer_member"}]}});
    let (_, made) = raw(&simulation.sim, "OS-TRUST/trusts", &token, &trust).await;
    let by_trust = AuthOptions {
        trust_id: text(&made["trust"]["id"]),
        trustee_id: Some(user.clone()),
        trustee_password: secret(MEMBER.password),
        ..AuthOptions::default()
    };
    login(&simulation, by_trust).await.unwrap();
}
