//! Nodes and the servers behind them.

mod addresses;
mod life;
mod outages;

use crate::scenario::{On, Scenario, When};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "nodes/addresses",
        story: "a server with several networks, a trunk and a floating IP is described; cloud.conf decides how",
        when: When::Always,
        on: On::Any,
        run: |stage| Box::pin(addresses::addresses(stage)),
    },
    Scenario {
        name: "nodes/life",
        story: "servers stop, start, go, and come again under the same name",
        when: When::Asked,
        on: On::Any,
        run: |stage| Box::pin(life::life(stage)),
    },
    Scenario {
        name: "nodes/outages",
        story: "Nova and Keystone stop and freeze, and no Node is lost",
        when: When::Always,
        on: On::Any,
        run: |stage| Box::pin(outages::outages(stage)),
    },
];
