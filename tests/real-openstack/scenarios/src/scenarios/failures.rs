//! Failures, made for real: services of the cloud that end or stand still, a locked database, revoked tokens, quotas, hands that change
//! things behind the manager's back, and managers that die.

mod database;
mod edited;
mod kills;
mod octavia;
mod quotas;
mod replies;
mod taken_away;
mod tokens;

use crate::scenario::{On, Provider, Scenario, When};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "failures/octavia-stopped",
        story: "Octavia's API ends before, during and after a creation, and comes back: one load balancer each",
        when: When::AlwaysWith(Provider::Amphora),
        on: On::Both,
        run: |stage| Box::pin(octavia::stopped(stage)),
    },
    Scenario {
        name: "failures/worker-frozen",
        story: "what stays PENDING_CREATE is waited for: to be changed, and to be deleted",
        when: When::Asked,
        on: On::Amphora,
        run: |stage| Box::pin(octavia::worker_frozen(stage)),
    },
    Scenario {
        name: "failures/no-answer",
        story: "Octavia's API and its front stand still amid creations: nothing is doubled",
        when: When::Asked,
        on: On::Both,
        run: |stage| Box::pin(replies::no_answer(stage)),
    },
    Scenario {
        name: "failures/lost-reply",
        story: "a creation whose answer is lost is waited for, and not repeated",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(replies::lost(stage)),
    },
    Scenario {
        name: "failures/lost-manager",
        story: "a manager dies while its creation is under way, and the next one makes no second",
        when: When::AlwaysWith(Provider::Ovn),
        on: On::Both,
        run: |stage| Box::pin(replies::manager_lost(stage)),
    },
    Scenario {
        name: "failures/database-locked",
        story: "tables of Octavia and Neutron are locked amid creations, changes and deletions",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(database::locked(stage)),
    },
    Scenario {
        name: "failures/database-timed-out",
        story: "Octavia gives a creation up because its database does",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(database::timed_out(stage)),
    },
    Scenario {
        name: "failures/token-revoked",
        story: "a revoked token is renewed, and nobody hears of it",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(tokens::revoked(stage)),
    },
    Scenario {
        name: "failures/credential-deleted",
        story: "without a credential nothing is lost; with another one it goes on",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(tokens::credential_deleted(stage)),
    },
    Scenario {
        name: "failures/quota-balancers",
        story: "a Service without room is told so, and served when there is room",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(quotas::balancers(stage)),
    },
    Scenario {
        name: "failures/quota-floating-ips",
        story: "a Service without a floating IP keeps its load balancer, and is mended",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(quotas::floating_ips(stage)),
    },
    Scenario {
        name: "failures/quota-parts",
        story: "listeners, pools and members have quotas, too",
        when: When::Asked,
        on: On::Both,
        run: |stage| Box::pin(quotas::parts(stage)),
    },
    Scenario {
        name: "failures/quota-security-groups",
        story: "managed security groups and their rules have quotas",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(quotas::security_groups(stage)),
    },
    Scenario {
        name: "failures/edited",
        story: "what somebody changed on a load balancer by hand is mended in place",
        when: When::AlwaysWith(Provider::Amphora),
        on: On::Both,
        run: |stage| Box::pin(edited::parts(stage)),
    },
    Scenario {
        name: "failures/many-in-error",
        story: "Octavia reports many load balancers in ERROR that still serve: none is deleted, and all follow the Nodes after a repair",
        when: When::AlwaysWith(Provider::Ovn),
        on: On::Both,
        run: |stage| Box::pin(taken_away::many_in_error(stage)),
    },
    Scenario {
        name: "failures/balancer-lost",
        story: "a load balancer that is deleted or in ERROR is made anew with the same address",
        when: When::AlwaysWith(Provider::Ovn),
        on: On::Both,
        run: |stage| Box::pin(taken_away::balancer(stage)),
    },
    Scenario {
        name: "failures/floating-ip-lost",
        story: "a floating IP that is detached, deleted or led elsewhere is replaced",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(taken_away::floating_ip(stage)),
    },
    Scenario {
        name: "failures/vip-port-lost",
        story: "a deleted VIP port is told, and its Service can be deleted",
        when: When::Asked,
        on: On::Both,
        run: |stage| Box::pin(taken_away::vip_port(stage)),
    },
    Scenario {
        name: "failures/kills",
        story: "eight managers die at random points: nothing is left, doubled or forgotten",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(kills::rounds(stage, 8, false)),
    },
    Scenario {
        name: "failures/kills-50",
        story: "the same fifty times",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(kills::rounds(stage, 50, false)),
    },
    Scenario {
        name: "failures/kills-slow",
        story: "the same with load balancers that take their time",
        when: When::Asked,
        on: On::Amphora,
        run: |stage| Box::pin(kills::rounds(stage, 10, false)),
    },
    Scenario {
        name: "failures/standby",
        story: "leaders die, and a standby takes over each time",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(kills::rounds(stage, 10, true)),
    },
];
