//! What the tests use from outside besides Kubernetes: the openstack client, helm and promtool, a browser.
//!
//! One after the other: APT lets one at a time install.

use crate::{chromium, openstack_client, packaging_tools};

/// Makes sure that they are there, as far as they can be had; says where.
pub(crate) fn ensure() -> anyhow::Result<()> {
    openstack_client::ensure()?;
    packaging_tools::ensure()?;
    chromium::ensure()
}
