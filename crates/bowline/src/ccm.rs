//! The cloud-controller-manager of all clouds that we know: today OpenStack, with the command line of its own one.

use std::process::ExitCode;
use std::sync::Arc;

use bowline_cloud::Cloud;
use bowline_manager::CloudControllerManager;
use bowline_manager::flags::{Flag, Kind, Section};
use bowline_openstack::cloud::{NAME, OpenStackCloud, Surroundings, USER_AGENT_FLAG};

/// The binary that we take the place of: its name as ours makes us behave as it does.
pub(crate) const OPENSTACK: &str = "openstack-cloud-controller-manager";

const USER_AGENT: Flag = Flag::new(
    Section::Provider(NAME),
    USER_AGENT_FLAG,
    Kind::Repeated,
    "",
    "Text to put before the User-Agent of requests to OpenStack; each further one goes before those before it.",
);

/// Runs it, started by the words `command`, to its end.
pub(crate) fn run(command: &str, arguments: &[String]) -> ExitCode {
    manager().command(command).run_with(arguments).into()
}

/// The manager with all clouds that we know.
pub(crate) fn manager() -> CloudControllerManager {
    let version = env!("CARGO_PKG_VERSION");
    CloudControllerManager::new(OPENSTACK, version).flags([USER_AGENT]).async_cloud(
        NAME,
        move |config| async move {
            let cloud = OpenStackCloud::from_config(&config, Surroundings::of_process(version)).await?;
            Ok(Arc::new(cloud) as Arc<dyn Cloud>)
        },
    )
}
