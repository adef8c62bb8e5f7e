//! Writes a cloud.conf as its users do.

use std::path::Path;

use real_cloud::Description;

/// How the manager proves who it is.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// The member's password, perhaps a wrong one.
    Password(String),
    /// The application credential of the cloud.
    ApplicationCredential,
    /// Lines of one's own.
    Lines(String),
}

/// What is in a cloud.conf.
#[derive(Clone, Debug)]
pub(crate) struct Conf {
    pub(crate) access: Access,
    /// Over https, with the authority of the cloud's certificates.
    pub(crate) tls: bool,
    /// More of `[LoadBalancer]`: lines, each with its end.
    pub(crate) load_balancer: String,
    /// Further sections.
    pub(crate) more: String,
}

impl Conf {
    /// With an application credential, and these lines in `[LoadBalancer]`.
    pub(crate) fn new(load_balancer: impl Into<String>) -> Self {
        Self {
            access: Access::ApplicationCredential,
            tls: false,
            load_balancer: load_balancer.into(),
            more: String::new(),
        }
    }

    /// The text of the file.
    pub(crate) fn text(&self, cloud: &Description) -> String {
        let place = if self.tls {
            let tls = &cloud.tls;
            format!(
                "auth-url = {}\nregion = {}\nca-file = {}\n",
                tls.auth_url,
                tls.region,
                tls.ca_file.display()
            )
        } else {
            format!("auth-url = {}\nregion = {}\n", cloud.auth_url, cloud.region)
        };
        let who = match &self.access {
            Access::Password(password) => {
                let member = &cloud.accounts.member;
                format!(
                    "username = {}\npassword = \"{password}\"\ntenant-name = {}\ndomain-name = {}\n",
                    member.user, member.project, member.domain,
                )
            }
            Access::ApplicationCredential => {
                let credential = &cloud.application_credential;
                format!(
                    "application-credential-id = {}\napplication-credential-secret = \"{}\"\n",
                    credential.id, credential.secret,
                )
            }
            Access::Lines(lines) => lines.clone(),
        };
        format!(
            "[Global]\n{place}{who}[LoadBalancer]\nsubnet-id = {}\nfloating-network-id = {}\n{}{}",
            cloud.estate.subnet, cloud.estate.external_network, self.load_balancer, self.more,
        )
    }

    pub(crate) fn write(&self, cloud: &Description, path: &Path) -> anyhow::Result<()> {
        Ok(std::fs::write(path, self.text(cloud))?)
    }
}
