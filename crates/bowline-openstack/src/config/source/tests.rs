//! Real files in a temporary folder, a Secret in memory, virtual time.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{CloudConfig, SecretData, SecretReader, SecretReference};
use openstack_client::{Interface, Roots};
use parking_lot::Mutex;
use secrecy::SecretSlice;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::config::Environment;

const CREDENTIALS: &str = "auth-url=https://k/v3\nusername=u\npassword=p\ntenant-id=t\nuser-domain-id=d\n";

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// A site with these lines in `[Global]`.
    fn site(&self, global: &str) -> Site {
        let path = self.write("cloud.conf", &format!("[Global]\n{global}"));
        Site::new(vec![path.into()], Environment::default())
    }
}

/// A Secret that can be changed.
#[derive(Default)]
struct Vault {
    held: Mutex<Option<BTreeMap<&'static str, String>>>,
    bell: Notify,
}

impl Vault {
    fn put(&self, held: &[(&'static str, &str)]) {
        *self.held.lock() = Some(held.iter().map(|(key, text)| (*key, (*text).to_owned())).collect());
        self.bell.notify_one();
    }
}

#[async_trait]
impl SecretReader for Vault {
    async fn read(&self, reference: &SecretReference) -> Result<SecretData, SecretError> {
        assert_eq!(reference.to_string(), "Secret kube-system/creds");
        let held = self.held.lock().clone();
        let held = held.ok_or_else(|| SecretError::NotFound(reference.clone()))?;
        Ok(held
            .into_iter()
            .map(|(key, text)| (key.to_owned(), SecretSlice::from(text.into_bytes())))
            .collect())
    }

    async fn changed(&self, _reference: &SecretReference) {
        self.bell.notified().await;
    }
}

const LEGACY: &str = "secret-name=creds\nsecret-namespace=kube-system\n";

#[tokio::test]
async fn a_file_becomes_a_configuration() {
    let place = Place::new();
    let ca = place.write("ca.pem", "PEM");
    let site = place.site(&format!(
        "{CREDENTIALS}region=R\nos-endpoint-type=internal\nca-file={ca}\n[Metadata]\nrequest-timeout=7s\n"
    ));
    let configuration = site.read().await.unwrap();
    let connection = &configuration.connection;
    assert_eq!((connection.region.as_str(), connection.interface), ("R", Interface::Internal));
    assert!(matches!(&connection.roots, Roots::Pem(pem) if pem == b"PEM"));
    assert_eq!(connection.transport_options().timeouts.total, Duration::from_secs(7));
    assert!(!connection.insecure);
}

#[tokio::test]
async fn certificates_count_only_in_pairs() {
    let place = Place::new();
    let (cert, key) = (place.write("cert.pem", "C"), place.write("key.pem", "K"));
    let both = place.site(&format!("{CREDENTIALS}cert-file={cert}\nkey-file={key}\n"));
    assert!(both.read().await.unwrap().connection.identity.is_some());
    let one = place.site(&format!("{CREDENTIALS}cert-file={cert}\n")).read().await.unwrap();
    assert!(one.connection.identity.is_none());
    assert_eq!(one.warnings.len(), 1);
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_together() {
    let place = Place::new();
    let site = place.site("auth-url=https://k/v3\nca-file=/no/ca\ncert-file=/no/cert\nkey-file=/no/key\n");
    let error = site.read().await.unwrap_err().to_string();
    for part in ["credentials: no way to authenticate", "/no/ca: ", "/no/cert: "] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn no_file_and_a_missing_file_are_told() {
    let none = Site::new(Vec::new(), Environment::default());
    assert_eq!(none.read().await.unwrap_err(), LoadError::NoFile);
    let missing = Site::new(vec!["/no/such/cloud.conf".into()], Environment::default());
    assert!(missing.read().await.unwrap_err().to_string().starts_with("/no/such/cloud.conf: "));
}

#[tokio::test]
async fn insecure_is_said_by_cloud_conf_or_else_by_clouds_yaml() {
    let place = Place::new();
    let yaml = place.write("c.yaml", "clouds: {a: {verify: false, auth: {}}}");
    for (lines, wanted) in [
        ("tls-insecure=true\n".to_owned(), true),
        ("tls-insecure=True\n".to_owned(), false),
        (format!("use-clouds=yes\nclouds-file={yaml}\n"), true),
        (format!("use-clouds=yes\nclouds-file={yaml}\ntls-insecure=false\n"), false),
    ] {
        let read = place.site(&format!("{CREDENTIALS}{lines}")).read().await.unwrap();
        assert_eq!(read.connection.insecure, wanted, "{lines}");
    }
}

const YAML: &str = "clouds:\n  openstack:\n    region_name: Y\n    auth: {auth_url: 'https://y/v3', application_credential_id: a, application_credential_secret: s}\n";

#[tokio::test]
async fn the_shape_that_openshift_writes_works() {
    let place = Place::new();
    let yaml = place.write("clouds.yaml", YAML);
    let site = place.site(&format!("use-clouds = true\nclouds-file = {yaml}\ncloud = openstack\n[LoadBalancer]\nmax-shared-lb = 1\nmanage-security-groups = true\n"));
    let configuration = site.read().await.unwrap();
    assert_eq!(configuration.connection.region, "Y");
    assert_eq!(configuration.credentials.method.to_string(), "application credential");
    assert_eq!(configuration.warnings, []);
}

#[tokio::test]
async fn the_variable_names_the_cloud_only_with_use_clouds() {
    let place = Place::new();
    let yaml = place.write("clouds.yaml", &format!("{YAML}  other: {{}}\n"));
    let environment = |name: &str| (name == "OS_CLOUD").then(|| "openstack".to_owned());
    let path = place.write("a.conf", &format!("[Global]\nuse-clouds\nclouds-file={yaml}\n"));
    let with = Site::new(vec![path.into()], Environment::from_variables(environment));
    assert_eq!(with.read().await.unwrap().connection.region, "Y");
    let path = place.write("b.conf", &format!("[Global]\n{CREDENTIALS}clouds-file={yaml}\n"));
    let without = Site::new(vec![path.into()], Environment::from_variables(environment));
    assert_eq!(without.read().await.unwrap().connection.region, "");
}

#[tokio::test]
async fn credentials_that_a_named_cloud_replaces_are_told() {
    let place = Place::new();
    let yaml = place.write("clouds.yaml", YAML);
    let site = place.site(&format!("use-clouds\nclouds-file={yaml}\ncloud=openstack\nusername=u\n"));
    let warnings = site.read().await.unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].to_string().contains("[Global] username: it is not used"), "{}", warnings[0]);
}

#[tokio::test]
async fn the_conf_of_a_secret_wins_over_the_file() {
    let place = Place::new();
    let vault = Arc::new(Vault::default());
    vault.put(&[("clouds.conf", &format!("[Global]\n{CREDENTIALS}region=Secret\n"))]);
    let site = place.site(&format!("{LEGACY}region=File\n[Route]\nrouter-id=r\n")).with_secrets(vault);
    let conf = site.read().await.unwrap().conf;
    assert_eq!((conf.global.region.as_str(), conf.route.router_id.as_str()), ("Secret", "r"));
}

#[tokio::test]
async fn the_clouds_yaml_of_a_secret_stands_for_a_file() {
    let place = Place::new();
    let vault = Arc::new(Vault::default());
    vault.put(&[("clouds.yaml", YAML)]);
    let site = place.site(LEGACY).with_secrets(vault.clone());
    assert_eq!(site.read().await.unwrap().connection.region, "Y");
    vault.put(&[("clouds.yaml", YAML), ("clouds.conf", &format!("[Global]\n{CREDENTIALS}"))]);
    assert_eq!(site.read().await.unwrap().connection.region, "", "clouds.conf does not ask for clouds.yaml");
    vault.put(&[("clouds.yaml", YAML), ("clouds.conf", "[Global]\nuse-clouds\n")]);
    assert_eq!(site.read().await.unwrap().connection.region, "Y");
}

#[tokio::test]
async fn errors_in_a_secret_name_it_and_quote_nothing() {
    let place = Place::new();
    let vault = Arc::new(Vault::default());
    let site = place.site(LEGACY).with_secrets(vault.clone());
    assert!(site.read().await.unwrap_err().to_string().contains("Secret kube-system/creds is not there"));
    vault.put(&[("other", "x")]);
    assert!(matches!(site.read().await.unwrap_err(), LoadError::EmptySecret(_)));
    vault.put(&[("clouds.conf", "[Global]\npassword=\"hunter2\n")]);
    let error = site.read().await.unwrap_err().to_string();
    assert!(error.starts_with("Secret kube-system/creds, clouds.conf:2:10: password: "), "{error}");
    assert!(!error.contains("hunter2"));
    let alone = place.site(LEGACY);
    assert!(matches!(alone.read().await.unwrap_err(), LoadError::NoSecretReader(_)));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_complete_needs_no_secret_and_takes_it_when_it_comes() {
    let place = Place::new();
    let vault = Arc::new(Vault::default());
    let site = place.site(&format!("{CREDENTIALS}{LEGACY}region=File\n")).with_secrets(vault.clone());
    let configuration = site.read().await.unwrap();
    assert_eq!(configuration.connection.region, "File");
    let warning = configuration.warnings[0].to_string();
    assert!(warning.contains("Secret kube-system/creds is not there"), "{warning}");
    vault.put(&[("clouds.conf", "[Global]\nregion=Secret\n")]);
    timeout(Duration::from_secs(1), site.changed()).await.unwrap();
    assert_eq!(site.read().await.unwrap().connection.region, "Secret");
}

#[tokio::test]
async fn a_secret_that_was_used_and_is_gone_does_not_make_way_for_the_file() {
    let place = Place::new();
    let vault = Arc::new(Vault::default());
    vault.put(&[("clouds.conf", "[Global]\nregion=Secret\n")]);
    let site = place.site(&format!("{CREDENTIALS}{LEGACY}region=File\n")).with_secrets(vault.clone());
    assert_eq!(site.read().await.unwrap().connection.region, "Secret");
    *vault.held.lock() = None;
    assert!(matches!(site.read().await.unwrap_err(), LoadError::Secret(SecretError::NotFound(_))));
    place.site(&format!("{CREDENTIALS}region=File\n"));
    assert_eq!(site.read().await.unwrap().connection.region, "File", "it is no longer named");
}

#[tokio::test]
async fn the_flag_gives_a_file_or_a_text() {
    let place = Place::new();
    let path = place.write("cloud.conf", &format!("[Global]\n{CREDENTIALS}region=File\n"));
    let text = Some(format!("[Global]\n{CREDENTIALS}region=Text\n"));
    let config = CloudConfig::new(text);
    let read = Site::of(&config, Environment::default()).read().await.unwrap();
    assert_eq!(read.connection.region, "Text");
    let config = config.with_path(Some(path.into()));
    let read = Site::of(&config, Environment::default()).read().await.unwrap();
    assert_eq!(read.connection.region, "File", "the file is read anew");
    let nothing = Site::of(&CloudConfig::default(), Environment::default());
    assert_eq!(nothing.read().await.unwrap_err(), LoadError::NoFile);
}

async fn quiet(site: &Site) -> bool {
    timeout(POLL * 20, site.changed()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_file_is_seen_and_touching_it_is_none() {
    let place = Place::new();
    let site = place.site(CREDENTIALS);
    site.read().await.unwrap();
    assert!(quiet(&site).await);
    place.site(CREDENTIALS);
    assert!(quiet(&site).await, "written anew with the same text");
    place.site(&format!("{CREDENTIALS}region=R\n"));
    let begun = Instant::now();
    site.changed().await;
    assert!(begun.elapsed() <= POLL + SETTLE, "{:?}", begun.elapsed());
    assert_eq!(site.read().await.unwrap().connection.region, "R");
    assert!(quiet(&site).await);
}

/// What the kubelet does: a folder with a date, a link to it, a link to the file through that link.
fn publish(folder: &Path, version: &str, text: &str) {
    let dated = folder.join(version);
    std::fs::create_dir(&dated).unwrap();
    std::fs::write(dated.join("cloud.conf"), text).unwrap();
    symlink(version, folder.join("..data_tmp")).unwrap();
    std::fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
    if !folder.join("cloud.conf").exists() {
        symlink("..data/cloud.conf", folder.join("cloud.conf")).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_swap_of_links_as_kubernetes_does_it_is_seen() {
    let place = Place::new();
    publish(place.folder.path(), "..1", &format!("[Global]\n{CREDENTIALS}region=One\n"));
    let site = Site::new(vec![place.path("cloud.conf").into()], Environment::default());
    assert_eq!(site.read().await.unwrap().connection.region, "One");
    assert!(quiet(&site).await);
    publish(place.folder.path(), "..2", &format!("[Global]\n{CREDENTIALS}region=Two\n"));
    timeout(POLL * 3, site.changed()).await.unwrap();
    assert_eq!(site.read().await.unwrap().connection.region, "Two");
}

#[tokio::test(start_paused = true)]
async fn clouds_yaml_certificates_and_files_that_appear_are_watched_too() {
    let place = Place::new();
    let (yaml, ca) = (place.write("clouds.yaml", YAML), place.write("ca.pem", "A"));
    let site = place.site(&format!("use-clouds\nclouds-file={yaml}\nca-file={ca}\n"));
    site.read().await.unwrap();
    place.write("ca.pem", "B");
    timeout(POLL * 3, site.changed()).await.unwrap();
    site.read().await.unwrap();
    place.write("clouds.yaml", &YAML.replace("region_name: Y", "region_name: Z"));
    timeout(POLL * 3, site.changed()).await.unwrap();
    assert_eq!(site.read().await.unwrap().connection.region, "Z");

    std::fs::remove_file(place.path("ca.pem")).unwrap();
    timeout(POLL * 3, site.changed()).await.unwrap();
    site.read().await.unwrap_err();
    assert!(quiet(&site).await, "a failure is no change by itself");
    place.write("ca.pem", "C");
    timeout(POLL * 3, site.changed()).await.unwrap();
    site.read().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_being_written_is_waited_for() {
    let place = Place::new();
    let site = place.site(CREDENTIALS);
    site.read().await.unwrap();
    let begun = Instant::now();
    let writing = async {
        for step in 0..20 {
            place.site(&format!("{CREDENTIALS}region=R{step}\n"));
            sleep(SETTLE / 2).await;
        }
        begun.elapsed()
    };
    let seen = async {
        site.changed().await;
        begun.elapsed()
    };
    let (written, seen) = tokio::join!(writing, seen);
    assert!(seen >= written, "seen after {seen:?}, written until {written:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_secret_is_seen() {
    let place = Place::new();
    let vault = Arc::new(Vault::default());
    let site = Arc::new(place.site(LEGACY).with_secrets(vault.clone()));
    site.read().await.unwrap_err();
    vault.put(&[("clouds.yaml", YAML)]);
    timeout(Duration::from_secs(1), site.changed()).await.unwrap();
    assert_eq!(site.read().await.unwrap().connection.region, "Y");
}

/// What a person has at home: a clouds.yaml with their password.
const CLOUDS_YAML_OF_A_PERSON: &str = "clouds:\n  mine:\n    auth: {auth_url: https://mine.example/v3, username: ann, password: CANARY-of-the-person, project_name: p, user_domain_name: d, project_domain_name: d}\n";

#[tokio::test]
async fn a_text_from_a_cluster_reads_no_file_and_no_variable_of_this_machine() {
    let place = Place::new();
    let yaml = place.write("clouds.yaml", CLOUDS_YAML_OF_A_PERSON);
    let pem = place.write("key.pem", "CANARY-of-the-person");
    let variables = |name: &str| match name {
        "OS_CLIENT_CONFIG_FILE" => Some(yaml.clone()),
        "OS_CLOUD" => Some("mine".to_owned()),
        _ => None,
    };
    let attacks = [
        "use-clouds=true\n".to_owned(),
        "use-clouds=true\ncloud=mine\n".to_owned(),
        format!("use-clouds=true\nclouds-file={yaml}\ncloud=mine\n"),
        "cloud=mine\n".to_owned(),
        format!("ca-file={pem}\ncert-file={pem}\nkey-file={pem}\n"),
    ];
    for attack in attacks {
        let text = format!("[Global]\nauth-url=https://evil.example/v3\n{attack}");
        let site = || Site::of_cluster("Secret x/y", text.clone(), Environment::from_variables(variables));
        // Without the credentials of the person there are none.
        let alone = site().read().await.unwrap_err().to_string();
        assert!(alone.contains("credentials") && !alone.contains("CANARY"), "{attack}: {alone}");
        let text = format!("{text}username=u\npassword=p\ntenant-id=t\nuser-domain-id=d\n");
        let site = Site::of_cluster("Secret x/y", text, Environment::from_variables(variables));
        let read = site.read().await.unwrap();
        assert_eq!(read.conf.global.auth_url, "https://evil.example/v3", "{attack}");
        assert_eq!(read.conf.global.username, "u", "{attack}");
        assert!(matches!(read.connection.roots, Roots::System) && read.connection.identity.is_none());
        let told = |key: &str| read.warnings.iter().any(|one| one.key.as_deref() == Some(key));
        let first = attack.split('=').next().unwrap();
        assert!(told(&format!("[Global] {first}")), "{attack}: {:?}", read.warnings);
    }
}

#[tokio::test]
async fn a_text_from_a_cluster_names_no_secret_and_no_kubeconfig_that_is_read_here() {
    let text = format!("[Global]\n{CREDENTIALS}{LEGACY}kubeconfig-path=/home/ann/.kube/config\n");
    let site = Site::of_cluster("Secret x/y", text, Environment::default());
    let read = site.read().await.unwrap();
    let keys: Vec<_> = read.warnings.iter().filter_map(|one| one.key.as_deref()).collect();
    assert!(keys.contains(&"[Global] kubeconfig-path") && keys.contains(&"[Global] secret-name"), "{keys:?}");
}
