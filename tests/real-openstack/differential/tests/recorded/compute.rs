//! Nova, in the order in which it was recorded.

use crate::player::Player;

pub(crate) fn replay(player: &mut Player) {
    let reads = [
        "servers-detail-2.1",
        "servers-detail-2.79",
        "servers-detail-latest",
        "microversion-too-high-406",
        "microversion-malformed-400",
        "server-get",
        "server-get-2.96",
        "server-404",
        "server-baduuid-404",
        "server-os-interface",
        "servers-name-regex",
        "servers-name-substring",
        "servers-name-none",
        "servers-page1",
        "servers-page2",
        "servers-bad-marker-400",
        "servers-all-tenants-403",
    ];
    for name in reads {
        player.play(&format!("nova-{name}"));
    }
    player.play_as_admin("nova-servers-all-tenants-admin");
    for name in ["status-filter", "unknown-filter", "unknown-filter-2.75-400"] {
        player.play(&format!("nova-servers-{name}"));
    }
    for name in ["flavor", "flavor-2.61", "flavor-404", "az-list", "server-create-202", "server-get-BUILD"] {
        player.play(&format!("nova-{name}"));
    }
    player.pass(10);
    player.play("nova-server-stop-202");
    player.pass(5);
    player.play("nova-server-get-SHUTOFF");
    player.play("nova-server-stop-again-409");
    player.play("nova-server-shelve");
    player.pass(5);
    player.play("nova-server-get-SHELVED");
    for name in ["delete-204", "get-deleting", "get-deleted-404", "create-badflavor-400"] {
        player.play(&format!("nova-server-{name}"));
    }
    player.play_as_admin("nova-quota-set");
    player.play("nova-server-create-quota-403");
    player.play_as_admin("nova-quota-reset");
    player.play("nova-path-unknown-404");
}
