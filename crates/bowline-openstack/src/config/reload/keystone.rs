//! Asks Keystone for which project credentials stand, by getting a token with them.

use openstack_client::{Client, ErrorClass, ProjectId};

use super::NoProject;

/// The project that the client's token is for.
///
/// # Errors
///
/// [`NoProject`] says whether Keystone does not accept the credentials, or did not say.
pub async fn project_of(client: &Client) -> Result<ProjectId, NoProject> {
    let identity = client.identity().await.map_err(|error| match error.class() {
        ErrorClass::Unauthenticated => NoProject::Denied(error.to_string()),
        _ => NoProject::Unsaid(error.to_string()),
    })?;
    identity
        .project_id
        .ok_or_else(|| NoProject::Unsaid("the token is not for a project; give a project".to_owned()))
}
