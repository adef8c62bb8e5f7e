//! The cloud in the words of others: variables for a shell, a `cloud.conf` for a cloud-controller-manager.

use clap::ValueEnum;

use crate::description::{Account, Description};
use crate::units::login;

/// Who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Who {
    /// The Kubernetes user, in the project `k8s`
    Member,
    /// The administrator
    Admin,
    /// The user of the project `other`
    Other,
}

/// The lines of `cloud.conf` that vary.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfOptions {
    /// The load balancer provider
    #[arg(long, value_name = "NAME", default_value = "ovn")]
    pub provider: String,
    /// The https endpoints, with the authority's certificate
    #[arg(long)]
    pub tls: bool,
    /// User and password in place of the application credential
    #[arg(long)]
    pub password: bool,
}

/// `export` lines for a POSIX shell: the login, and a PATH with the `openstack` client.
#[must_use]
pub fn exports(description: &Description, who: Who, tls: bool) -> String {
    let account = account(description, who);
    let mut variables: Vec<(&str, String)> = login(&account.user, &account.project, &account.password).into();
    if tls {
        variables.push(("OS_AUTH_URL", description.tls.auth_url.clone()));
        variables.push(("OS_REGION_NAME", description.tls.region.clone()));
        variables.push(("OS_CACERT", description.tls.ca_file.display().to_string()));
    }
    let mut lines: String =
        variables.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
    if let Some(folder) = description.client.parent() {
        lines.push_str(&format!("export PATH={}:\"$PATH\"\n", quoted(&folder.display().to_string())));
    }
    lines
}

/// A `cloud.conf` for the nodes of the estate.
#[must_use]
pub fn cloud_conf(description: &Description, options: &ConfOptions) -> String {
    let estate = &description.estate;
    let (auth_url, region) = if options.tls {
        (&description.tls.auth_url, &description.tls.region)
    } else {
        (&description.auth_url, &description.region)
    };
    let method = if options.provider == "ovn" { "SOURCE_IP_PORT" } else { "ROUND_ROBIN" };
    let ca_file =
        if options.tls { format!("ca-file={}\n", description.tls.ca_file.display()) } else { String::new() };
    format!(
        "[Global]\nauth-url={auth_url}\nregion={region}\n{credential}{ca_file}\n\
         [LoadBalancer]\nlb-provider={provider}\nlb-method={method}\nsubnet-id={subnet}\n\
         floating-network-id={external}\ncreate-monitor=true\n\n\
         [Route]\nrouter-id={router}\n",
        credential = credential(description, options.password),
        provider = options.provider,
        subnet = estate.subnet,
        external = estate.external_network,
        router = estate.router,
    )
}

fn credential(description: &Description, by_password: bool) -> String {
    if by_password {
        let Account { user, password, project, domain } = &description.accounts.member;
        return format!(
            "username={user}\npassword={password}\ntenant-name={project}\ndomain-name={domain}\n"
        );
    }
    let credential = &description.application_credential;
    format!(
        "application-credential-id={}\napplication-credential-secret={}\n",
        credential.id, credential.secret
    )
}

fn account(description: &Description, who: Who) -> &Account {
    match who {
        Who::Member => &description.accounts.member,
        Who::Admin => &description.accounts.admin,
        Who::Other => &description.accounts.other,
    }
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::tests::example;
    use crate::settings::Settings;

    fn description() -> Description {
        let folder = tempfile::tempdir().unwrap();
        example(&Settings::of_folder(folder.path().to_owned()))
    }

    #[test]
    fn a_later_export_wins_so_that_tls_replaces_the_plain_address() {
        let lines = exports(&description(), Who::Other, true);
        let last = lines.lines().rfind(|line| line.starts_with("export OS_AUTH_URL=")).unwrap();
        assert_eq!(last, "export OS_AUTH_URL='https://127.0.0.1:15000/v3'");
        assert!(lines.contains("export OS_PROJECT_NAME='other'\n") && lines.contains("OS_CACERT"));
    }

    #[test]
    fn a_quote_in_a_path_stays_one_word() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn the_conf_names_the_method_that_the_provider_can() {
        let options = |provider: &str| ConfOptions { provider: provider.into(), tls: true, password: false };
        let ovn = cloud_conf(&description(), &options("ovn"));
        assert!(ovn.contains("\nlb-method=SOURCE_IP_PORT\n") && ovn.contains("\nca-file="), "{ovn}");
        assert!(ovn.contains("\napplication-credential-secret=secret\n"));
        assert!(cloud_conf(&description(), &options("amphora")).contains("\nlb-method=ROUND_ROBIN\n"));
    }
}
