//! Every way to log in, at a Keystone that checks it.

use http::Method;
use openstack_client::{
    AuthOptions, Client, ErrorClass, Service as ServiceType, Settings, Timeouts, Transport,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use sim_openstack::{Config, MEMBER};

use crate::Simulation;

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
    let path = format!("/identity/v3/users/{}/application_credentials", simulation.estate.user);
    let new = json!({"application_credential": {"name": "ccm"}});
    let made = simulation.ask(MEMBER, Method::POST, &path, &new).unwrap();
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
    let token = simulation.sim.with(|cloud| cloud.login(MEMBER)).unwrap();
    let by_token = AuthOptions {
        token: secret(&token),
        project_id: Some(simulation.estate.project.clone()),
        ..AuthOptions::default()
    };
    login(&simulation, by_token).await.unwrap();
    let user = &simulation.estate.user;
    let trust = json!({"trust": {"trustor_user_id": user, "trustee_user_id": user, "impersonation": true,
        "project_id": simulation.estate.project, "roles": [{"name": "member"}, {"name": "load-balancer_member"}]}});
    let made = simulation.ask(MEMBER, Method::POST, "/identity/v3/OS-TRUST/trusts", &trust).unwrap();
    let by_trust = AuthOptions {
        trust_id: text(&made["trust"]["id"]),
        trustee_id: Some(user.clone()),
        trustee_password: secret(MEMBER.password),
        ..AuthOptions::default()
    };
    login(&simulation, by_trust).await.unwrap();
}
