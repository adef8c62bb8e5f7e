//! The life of Services.

mod addresses;
mod clusters;
mod edits;
mod families;
mod flavors;
mod groups;
mod life;
mod shared;

use crate::scenario::{On, Provider, Scenario, When};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "services/life",
        story: "three ports come, change and go; Nodes leave and join; the type changes there and back; nothing is left",
        when: When::AlwaysWith(Provider::Ovn),
        on: On::Both,
        run: |stage| Box::pin(life::life(stage)),
    },
    Scenario {
        name: "services/edits",
        story: "each annotation and field that may be edited takes effect on the load balancer that is there",
        when: When::Always,
        on: On::Amphora,
        run: |stage| Box::pin(edits::amphora(stage)),
    },
    Scenario {
        name: "services/edits",
        story: "what OVN can do takes effect, what it cannot is told and harms nothing",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(edits::ovn(stage)),
    },
    Scenario {
        name: "services/floating-ip",
        story: "a floating IP is made, given, exchanged, kept, used again and released",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(addresses::floating_ip(stage)),
    },
    Scenario {
        name: "services/shared",
        story: "Services share a load balancer up to the limit, owners leave first or last, ports do not collide",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(shared::shared(stage)),
    },
    Scenario {
        name: "services/shared",
        story: "the same with a provider that takes its time",
        when: When::Asked,
        on: On::Amphora,
        run: |stage| Box::pin(shared::shared(stage)),
    },
    Scenario {
        name: "services/families",
        story: "IPv6 alone, and both families at once",
        when: When::AlwaysWith(Provider::Ovn),
        on: On::Both,
        run: |stage| Box::pin(families::families(stage)),
    },
    Scenario {
        name: "services/security-groups",
        story: "managed security groups: their rules, the Nodes' ports, and nothing of them afterwards",
        when: When::AlwaysWith(Provider::Ovn),
        on: On::Both,
        run: |stage| Box::pin(groups::groups(stage)),
    },
    Scenario {
        name: "services/two-clusters",
        story: "two clusters in one project do not touch each other's things, not even under one name",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(clusters::two_clusters(stage)),
    },
    Scenario {
        name: "services/flavor-and-zone",
        story: "a load balancer gets the flavor and the availability zone that the Service asks for",
        when: When::Asked,
        on: On::Amphora,
        run: |stage| Box::pin(flavors::flavor_and_zone(stage)),
    },
];
