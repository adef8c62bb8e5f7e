//! Barbican.

use openstack_client::key_manager::Reference;
use serde_json::json;

use super::last;
use crate::cloud::{Cloud, Reply};

#[tokio::test(start_paused = true)]
async fn containers_and_secrets_are_looked_at_without_their_payload() {
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/v1/containers/c1" => Reply::ok(
            &json!({"container_ref": "http://b/v1/containers/c1", "name": "tls", "type": "certificate", "status": "ACTIVE", "secret_refs": []}),
        ),
        _ => Reply::ok(
            &json!({"secret_ref": "http://b/v1/secrets/s1", "name": null, "secret_type": "opaque", "status": "ACTIVE", "expiration": null}),
        ),
    });
    let barbican = cloud.client().key_manager();
    let Some(Reference::Container(id)) = Reference::parse("http://b/v1/containers/c1").unwrap() else {
        panic!()
    };
    assert_eq!(barbican.container(&id).await.unwrap().kind, "certificate");
    let Some(Reference::Secret(id)) = Reference::parse("http://b/v1/secrets/s1").unwrap() else { panic!() };
    assert_eq!(barbican.secret(&id).await.unwrap().secret_type, "opaque");
    assert_eq!(last(&cloud).line(), "GET barbican.test/v1/secrets/s1");
}
