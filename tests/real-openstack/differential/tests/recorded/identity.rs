//! Discovery and authentication, in the order in which they were recorded.

use serde_json::json;
use sim_openstack::MEMBER;

use crate::player::Player;

const BAD_TOKEN: &str = "gAAAAABinvalid";

pub(crate) fn replay(player: &mut Player) {
    let discovery = [
        "keystone-root",
        "keystone-v3",
        "keystone-v3slash",
        "nova-root",
        "nova-v21",
        "nova-v21-noslash",
        "neutron-root",
        "neutron-v2",
        "neutron-v2-noslash",
        "octavia-root",
        "octavia-v2",
        "octavia-v20",
        "octavia-v2-lbaas",
        "glance-versions",
    ];
    for name in discovery {
        player.play_with(&format!("disc-{name}"), "", "");
    }
    let (member, password) = (player.member.clone(), MEMBER.password);
    player.play_with("auth-password-scoped", "", password);
    credentials(player, &member);
    for name in ["auth-password-wrong-401", "auth-project-unknown-401", "auth-malformed-400", "auth-unscoped"]
    {
        player.play_with(name, "", password);
    }
    player.play("auth-token-validate");
    player.play("auth-catalog");
    for service in ["nova", "neutron", "octavia", "keystone"] {
        player.play_with(&format!("auth-bad-token-{service}-401"), BAD_TOKEN, "");
        player.play_with(&format!("auth-no-token-{service}-401"), "", "");
    }
    let revoked = token(player);
    let subject = [("x-subject-token", revoked.as_str())];
    player.ask(&revoked, "DELETE", "http://127.0.0.1:5000/v3/auth/tokens", &subject, &json!(null));
    player.play_with("auth-revoked-token-neutron-401", &revoked, "");
    player.play("auth-trust-create");
    player.play_with("auth-trust-scoped", "", password);
}

fn token(player: &mut Player) -> String {
    let user = json!({"name": MEMBER.user, "domain": {"id": "default"}, "password": MEMBER.password});
    let identity = json!({"methods": ["password"], "password": {"user": user}});
    let scope = json!({"project": {"name": MEMBER.project, "domain": {"id": "default"}}});
    let body = json!({"auth": {"identity": identity, "scope": scope}});
    let reply = player.ask("", "POST", "http://127.0.0.1:5000/v3/auth/tokens", &[], &body);
    reply.headers["x-subject-token"].clone()
}

/// The application credential was made when the estate was.
fn credentials(player: &mut Player, member: &str) {
    let url = format!("http://127.0.0.1:5000/v3/users/{}/application_credentials", player.estate.user);
    let made = player.ask(member, "POST", &url, &[], &json!({"application_credential": {"name": "ccm"}}));
    let credential = &made.body["application_credential"];
    let secret = credential["secret"].as_str().unwrap();
    player.translate("80e19a18e5a84d0eb7ad6412dfa26b2a", credential["id"].as_str().unwrap());
    for name in [
        "auth-appcred",
        "auth-appcred-by-name",
        "auth-appcred-with-scope-401",
        "auth-appcred-wrong-secret-401",
    ] {
        player.play_with(name, "", secret);
    }
}
