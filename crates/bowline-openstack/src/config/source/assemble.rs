//! From the texts to a configuration: the overlay, the credentials, the connection. Reads only the files that the
//! configuration names. All that is wrong is collected.

use std::path::Path;
use std::time::Duration;

use openstack_client::clouds_yaml::{CloudEntry, Documents};
use openstack_client::{ClientIdentity, Interface, Roots};
use secrecy::SecretString;

use super::LoadError;
use super::files::Files;
use crate::config::connection::{Configuration, Connection};
use crate::config::decode::Decoded;
use crate::config::environment::Environment;
use crate::config::model::Global;
use crate::config::overlay;
use crate::config::problem::Problem;

/// Puts everything together. `clouds` is a clouds.yaml that was found elsewhere than in a file.
pub(super) fn assemble(
    decoded: Decoded,
    clouds: Option<&Documents>,
    environment: &Environment,
    files: &mut Files,
) -> Result<Configuration, LoadError> {
    let Decoded { mut conf, mut warnings } = decoded;
    let entry = entry(&conf.global, clouds, environment, files)?;
    let named = entry.as_ref().filter(|_| !conf.global.cloud.is_empty());
    if named.is_some() {
        warnings.extend(overlay::replaced(&conf).into_iter().map(not_used));
    }
    let mut verify = None;
    if let Some(entry) = entry.as_ref().filter(|_| conf.global.use_clouds) {
        overlay::fill(&mut conf.global, entry);
        verify = entry.verify;
    }
    let options = named.map_or_else(
        || overlay::auth_options(&conf.global),
        |entry| overlay::named_options(&conf.global, entry),
    );
    let timeout = conf.metadata.request_timeout;
    let mut wrong = Vec::new();
    let mut keep = |error| wrong.push(error);
    let credentials = options.resolve().map_err(LoadError::from).map_err(&mut keep).ok();
    let interface =
        Interface::parse(&conf.global.endpoint_type).ok_or(LoadError::Interface).map_err(&mut keep).ok();
    let roots = roots(&conf.global, files).map_err(&mut keep).ok();
    let identity = identity(&conf.global, files).map_err(&mut keep).ok();
    match (credentials, interface, roots, identity) {
        (Some(credentials), Some(interface), Some(roots), Some(identity)) => {
            let connection = Connection {
                region: conf.global.region.clone(),
                interface,
                roots,
                identity,
                insecure: insecure(&conf.global, verify),
                insecure_endpoints: conf.global.allow_insecure_endpoints,
                timeout: Duration::try_from(timeout).unwrap_or(Duration::from_secs(60)),
                proxies: environment.proxies(),
            };
            Ok(Configuration { conf, credentials, connection, warnings })
        }
        _ => Err(match wrong.len() {
            1 => wrong.remove(0),
            _ => LoadError::Several(wrong),
        }),
    }
}

/// The entry of clouds.yaml, if one is wanted. `OS_CLOUD` counts only with `use-clouds`.
fn entry(
    global: &Global,
    clouds: Option<&Documents>,
    environment: &Environment,
    files: &mut Files,
) -> Result<Option<CloudEntry>, LoadError> {
    if !global.use_clouds && global.cloud.is_empty() {
        return Ok(None);
    }
    let name = Some(global.cloud.clone()).filter(|name| !name.is_empty()).or_else(|| environment.cloud());
    if let Some(documents) = clouds {
        return Ok(Some(documents.entry(name.as_deref())?));
    }
    let search = environment.search(&global.clouds_file);
    // Before they are read: a change in between is then seen as one.
    files.look_at(search.candidates());
    Ok(Some(search.load(name.as_deref())?))
}

fn not_used(key: &'static str) -> Problem {
    Problem {
        file: "cloud.conf".to_owned(),
        position: None,
        key: Some(format!("[Global] {key}")),
        what: "it is not used, because `cloud` names an entry of clouds.yaml; remove one of them".to_owned(),
    }
}

fn insecure(global: &Global, verify: Option<bool>) -> bool {
    match global.tls_insecure.as_str() {
        "" => verify == Some(false),
        text => text == "true",
    }
}

fn roots(global: &Global, files: &mut Files) -> Result<Roots, LoadError> {
    match (global.ca_file.as_str(), global.ca_file_contents.as_str()) {
        ("", "") => Ok(Roots::System),
        ("", contents) => Ok(Roots::Pem(contents.as_bytes().to_vec())),
        (path, _) => Ok(Roots::Pem(read(path, files)?)),
    }
}

fn identity(global: &Global, files: &mut Files) -> Result<Option<ClientIdentity>, LoadError> {
    if global.cert_file.is_empty() || global.key_file.is_empty() {
        return Ok(None);
    }
    let certificates = read(&global.cert_file, files)?;
    let key = String::from_utf8(read(&global.key_file, files)?).map_err(|_not_pem| {
        LoadError::Unreadable { path: global.key_file.clone(), why: "it is not a PEM file".to_owned() }
    })?;
    Ok(Some(ClientIdentity { certificates, key: SecretString::from(key) }))
}

fn read(path: &str, files: &mut Files) -> Result<Vec<u8>, LoadError> {
    let held = files.read(Path::new(path));
    held.map(|held| held.to_vec())
        .map_err(|error| LoadError::Unreadable { path: path.to_owned(), why: error.to_string() })
}
