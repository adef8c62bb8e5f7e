//! What all scenarios have in common: the cloud, those who look at it, and the binary under test.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use real_cloud::{Cloud, Description};

use crate::openstack::OpenStack;

/// A cloud and the binary under test.
pub(crate) struct World {
    pub(crate) cloud: Cloud,
    /// Who runs the cloud.
    pub(crate) admin: OpenStack,
    /// Who owns the cluster's project.
    pub(crate) member: OpenStack,
    pub(crate) bowline: PathBuf,
    /// Where what is kept of a failed scenario goes.
    pub(crate) keep: PathBuf,
}

impl World {
    pub(crate) async fn open(bowline: Option<PathBuf>, keep: PathBuf) -> anyhow::Result<Self> {
        let bowline = bowline.map_or_else(beside_this_program, Ok)?;
        ensure!(bowline.is_file(), "no binary to test at {}: `cargo build -p bowline`", bowline.display());
        let cloud = Cloud::open()?;
        let description = cloud.description();
        let admin = OpenStack::login(description, &description.accounts.admin).await?;
        let member = OpenStack::login(description, &description.accounts.member).await?;
        Ok(Self { admin, member, cloud, bowline, keep })
    }

    pub(crate) fn about(&self) -> &Description {
        self.cloud.description()
    }
}

fn beside_this_program() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    Ok(this.parent().context("this program is in no folder")?.join("bowline"))
}
