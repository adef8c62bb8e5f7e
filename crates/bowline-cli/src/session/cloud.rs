//! The cloud of a command: its configuration from where it can be had, and the provider on it. It never writes.

use std::path::Path;
use std::sync::Arc;

use bowline_cloud::{AnyLoadBalancers, Capability, Cloud, CloudConfig, CloudContext, Instances};
use bowline_openstack::cloud::{OpenStackCloud, Surroundings};
use bowline_openstack::config::{ConfigSource, Environment, Site};
use openstack_client::Client;
use zeroize::Zeroizing;

use super::{Access, Session};
use crate::ending::Ending;

/// The Secret in which a cloud.conf is by custom.
const USUAL_SECRET: (&str, &str) = ("cloud-config", "cloud.conf");

/// The keys of `[Global]`, and the variables of the openstack client that say the same.
const VARIABLES: [(&str, &[&str]); 20] = [
    ("auth-url", &["OS_AUTH_URL"]),
    ("username", &["OS_USERNAME"]),
    ("user-id", &["OS_USER_ID", "OS_USERID"]),
    ("password", &["OS_PASSWORD"]),
    ("tenant-id", &["OS_PROJECT_ID", "OS_TENANT_ID"]),
    ("tenant-name", &["OS_PROJECT_NAME", "OS_TENANT_NAME"]),
    ("domain-id", &["OS_DOMAIN_ID"]),
    ("domain-name", &["OS_DOMAIN_NAME"]),
    ("tenant-domain-id", &["OS_PROJECT_DOMAIN_ID"]),
    ("tenant-domain-name", &["OS_PROJECT_DOMAIN_NAME"]),
    ("user-domain-id", &["OS_USER_DOMAIN_ID"]),
    ("user-domain-name", &["OS_USER_DOMAIN_NAME"]),
    ("application-credential-id", &["OS_APPLICATION_CREDENTIAL_ID"]),
    ("application-credential-name", &["OS_APPLICATION_CREDENTIAL_NAME"]),
    ("application-credential-secret", &["OS_APPLICATION_CREDENTIAL_SECRET"]),
    ("region", &["OS_REGION_NAME"]),
    ("ca-file", &["OS_CACERT"]),
    ("cert-file", &["OS_CERT"]),
    ("key-file", &["OS_KEY"]),
    ("os-endpoint-type", &["OS_INTERFACE"]),
];

/// A configuration of a cloud, and where it is from.
pub struct CloudSettings {
    /// The configuration.
    pub config: CloudConfig,
    /// Where it is from, in words.
    pub from: String,
    /// Whether it is only credentials: the settings of `[LoadBalancer]` are the defaults then.
    pub credentials_only: bool,
    /// Whether it was read out of the cluster, where others chose the host and which files would be read.
    pub of_cluster: bool,
}

impl CloudSettings {
    /// What reads it. A text of the cluster reads nothing of this machine.
    #[must_use]
    pub fn site(&self, environment: Environment) -> Site {
        match (&self.config.text, self.of_cluster) {
            (Some(text), true) => Site::of_cluster(&self.from, text.clone(), environment),
            _of_the_person => Site::of(&self.config, environment),
        }
    }
}

/// A cloud that was reached.
pub struct CloudAccess {
    /// The provider.
    pub cloud: OpenStackCloud,
    /// A client on the same credentials.
    pub client: Client,
    /// Where the configuration is from, in words.
    pub from: String,
    /// What a person should know of it.
    pub notes: Vec<String>,
    /// Why a login failed, if it did.
    pub problem: Option<String>,
}

impl CloudAccess {
    /// Reads the configuration and logs in.
    ///
    /// # Errors
    ///
    /// [`Ending`] if there is no configuration, or it cannot be used, or the cloud does not let us in.
    pub async fn connect(session: &Session) -> Result<Self, Ending> {
        let access = Self::prepare(session).await?;
        match &access.problem {
            Some(why) => Err(Ending::not_looked(format!("the cloud ({}): {why}", access.from))),
            None => Ok(access),
        }
    }

    /// The same, where a cloud that does not let us in is a finding and no end.
    ///
    /// # Errors
    ///
    /// [`Ending`] if there is no configuration, or it cannot be used.
    pub async fn prepare(session: &Session) -> Result<Self, Ending> {
        let found = settings(session).await?;
        let around = Surroundings::of_process(env!("CARGO_PKG_VERSION"));
        let site = found.site(around.environment.clone());
        let CloudSettings { from, credentials_only, of_cluster, .. } = found;
        if of_cluster {
            let read = site.read().await.map_err(|error| {
                Ending::not_looked(format!(
                    "{from}: {error}. In a text from the cluster, keys that read files or variables of this machine (use-clouds, clouds-file, cloud, ca-file, cert-file, key-file) are ignored: if it needs them, save it in a file and name the file with --cloud-config, or use credentials of your own with --os-cloud"
                ))
            })?;
            session.consent.get(&from, &read, session.access.trust_cloud_host).await?;
        }
        let cloud = OpenStackCloud::start(Arc::new(site), around).await;
        let cloud = cloud.map_err(|error| Ending::not_looked(format!("{from}: {error}")))?;
        let context =
            CloudContext::new(session.cluster_name.clone()).with_cluster_uid(session.cluster_uid.clone());
        let problem = cloud.initialize(&context).await.err().map(|error| error.to_string());
        let mut notes = Vec::new();
        if credentials_only {
            notes.push(format!(
                "credentials only, from {from}: plans are made with the defaults of [LoadBalancer]; give the manager's own file with --cloud-config"
            ));
        }
        Ok(Self { client: cloud.client(), cloud, from, notes, problem })
    }

    /// The load balancers.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub fn load_balancers(&self) -> Result<Arc<dyn AnyLoadBalancers>, String> {
        supported(self.cloud.load_balancers())
    }

    /// The servers.
    ///
    /// # Errors
    ///
    /// Why there are none.
    pub fn instances(&self) -> Result<Arc<dyn Instances>, String> {
        supported(self.cloud.instances())
    }
}

fn supported<T>(capability: Capability<T>) -> Result<T, String> {
    match capability {
        Capability::Supported(part) => Ok(part),
        Capability::Unsupported => Err("they are switched off in cloud.conf".to_owned()),
        Capability::Unavailable(why) => Err(why),
    }
}

/// Where the configuration is from: the flags, the environment, or the cluster, in this order.
///
/// # Errors
///
/// [`Ending`] if none of them has one.
pub async fn settings(session: &Session) -> Result<CloudSettings, Ending> {
    let Access { cloud_config, os_cloud, .. } = &session.access;
    match given(cloud_config.as_deref(), os_cloud.as_deref()) {
        Some(settings) => Ok(settings),
        None => of_cluster(session).await,
    }
}

/// What flags or environment say; none if they say nothing.
#[must_use]
pub fn given(cloud_config: Option<&Path>, os_cloud: Option<&str>) -> Option<CloudSettings> {
    if let Some(path) = cloud_config {
        let config = CloudConfig::new(None).with_path(Some(path.to_owned()));
        return Some(CloudSettings {
            config,
            from: path.display().to_string(),
            credentials_only: false,
            of_cluster: false,
        });
    }
    let text = of_environment(os_cloud, |name| std::env::var(name).ok())?;
    let from = if os_cloud.is_some() { "--os-cloud" } else { "the OS_* variables" };
    let config = CloudConfig::new(Some(text.to_string()));
    Some(CloudSettings { config, from: from.to_owned(), credentials_only: true, of_cluster: false })
}

/// The text of a cloud.conf that says what the openstack client would read.
fn of_environment(
    os_cloud: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<Zeroizing<String>> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(name) = os_cloud.map(ToOwned::to_owned).or_else(|| set("OS_CLOUD")) {
        return Some(Zeroizing::new(format!("[Global]\nuse-clouds = true\ncloud = {}\n", quoted(&name))));
    }
    set("OS_AUTH_URL")?;
    let mut text = Zeroizing::new("[Global]\n".to_owned());
    for (key, names) in VARIABLES {
        if let Some(value) = names.iter().find_map(|name| set(name)) {
            text.push_str(&format!("{key} = {}\n", quoted(&value)));
        }
    }
    Some(text)
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// What the manager in the cluster reads.
async fn of_cluster(session: &Session) -> Result<CloudSettings, Ending> {
    let namespace = &session.access.manager_namespace;
    let place = session.managers.iter().find_map(|manager| manager.config.clone());
    let (name, key) = match &place {
        Some(place) if place.secret => (place.name.as_str(), place.key.as_str()),
        _ => USUAL_SECRET,
    };
    let read = session.cluster.secret(namespace, name, key).await;
    let text = read.map_err(|error| {
        Ending::not_looked(format!(
            "no configuration of the cloud: neither --cloud-config, --os-cloud nor OS_AUTH_URL is given, and {error}"
        ))
    })?;
    let from = format!("Secret {namespace}/{name}");
    Ok(CloudSettings {
        config: CloudConfig::new(Some(text)),
        from,
        credentials_only: false,
        of_cluster: true,
    })
}

#[cfg(test)]
mod tests {
    use bowline_openstack::config::{Source, decode};

    use super::*;

    #[test]
    fn the_variables_of_the_openstack_client_make_a_cloud_conf_whatever_they_hold() {
        let variables = |name: &str| match name {
            "OS_AUTH_URL" => Some("https://keystone.example/v3".to_owned()),
            "OS_USERNAME" => Some("ops".to_owned()),
            "OS_PASSWORD" => Some("a\"b\\c # d; e".to_owned()),
            "OS_PROJECT_NAME" => Some("prod".to_owned()),
            "OS_USER_DOMAIN_NAME" => Some("Default".to_owned()),
            "OS_REGION_NAME" => Some("RegionOne".to_owned()),
            _ => None,
        };
        let text = of_environment(None, variables).unwrap();
        let decoded = decode(&[Source::new("env", text.to_string())]).unwrap();
        assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
        let global = decoded.conf.global;
        assert_eq!((global.username.as_str(), global.tenant_name.as_str()), ("ops", "prod"));
        assert_eq!(global.region, "RegionOne");
        use secrecy::ExposeSecret;
        assert_eq!(global.password.unwrap().expose_secret(), "a\"b\\c # d; e");
    }

    #[test]
    fn a_cloud_of_clouds_yaml_comes_first_and_nothing_is_nothing() {
        let text = of_environment(Some("prod"), |_| Some("x".to_owned())).unwrap();
        assert!(text.contains("use-clouds = true") && text.contains("cloud = \"prod\""), "{}", *text);
        assert!(of_environment(None, |_| None).is_none());
    }

    #[test]
    fn every_key_that_variables_fill_is_one_of_cloud_conf() {
        let all: String = VARIABLES.iter().map(|(key, _)| format!("{key} = internal\n")).collect();
        let decoded = decode(&[Source::new("env", format!("[Global]\n{all}"))]).unwrap();
        assert!(
            decoded.warnings.iter().all(|warning| !warning.what.contains("has no key")),
            "{:?}",
            decoded.warnings
        );
    }
}
