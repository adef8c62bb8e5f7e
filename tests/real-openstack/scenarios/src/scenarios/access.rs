//! How the manager comes to the cloud, and what happens when that changes.

mod losing;
mod rotation;
mod secret;
mod ways;
mod witness;

use crate::scenario::{On, Scenario, When};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "access/ways",
        story: "passwords, application credentials, clouds.yaml and TLS: each kind of cloud.conf works",
        when: When::Always,
        on: On::Any,
        run: |stage| Box::pin(ways::ways(stage)),
    },
    Scenario {
        name: "access/rotation",
        story: "application credentials are exchanged under a running manager; those of another project are refused",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(rotation::rotation(stage)),
    },
    Scenario {
        name: "access/losing",
        story: "the cloud no longer knows the manager: nothing is lost, and nothing has to be restarted",
        when: When::Asked,
        on: On::Ovn,
        run: |stage| Box::pin(losing::losing(stage)),
    },
    Scenario {
        name: "access/secret",
        story: "the credentials are in a Secret, which is changed and deleted",
        when: When::Always,
        on: On::Any,
        run: |stage| Box::pin(secret::secret(stage)),
    },
];
