//! Keys and certificates, made once: of the https twins, and of the amphorae.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::settings::Settings;

const SUBJECT_NAMES: &str = "subjectAltName=IP:127.0.0.1,DNS:localhost\n";

/// Makes what is not there.
pub(crate) fn make_missing(settings: &Settings, password: &str) -> anyhow::Result<()> {
    for (name, make) in [("tls", tls as fn(&Path, &str) -> _), ("amphora-ca", amphora)] {
        let folder = settings.data().join(name);
        if !folder.exists() {
            let unfinished = settings.data().join(format!("{name}.new"));
            fs::create_dir_all(&unfinished).with_context(|| format!("create {}", unfinished.display()))?;
            make(&unfinished, password)?;
            fs::rename(&unfinished, &folder)?;
        }
    }
    Ok(())
}

/// An authority of our own and a certificate for loopback, signed by it.
fn tls(folder: &Path, _: &str) -> anyhow::Result<()> {
    fs::write(folder.join("names"), SUBJECT_NAMES)?;
    let authority =
        "req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=real-cloud -keyout ca.key -out ca.pem";
    openssl(folder, authority)?;
    openssl(folder, "req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout server.key -out server.csr")?;
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile names -out server.pem",
    )
}

/// Octavia signs its amphorae's certificates. Its key must be encrypted: Octavia always passes a passphrase.
fn amphora(folder: &Path, password: &str) -> anyhow::Result<()> {
    fs::write(folder.join("passphrase"), password)?;
    let authority = "req -x509 -newkey rsa:2048 -passout file:passphrase -days 3650 -subj /CN=amphorae -keyout ca.key -out ca.pem";
    openssl(folder, authority)?;
    openssl(folder, "rsa -in ca.key -passin file:passphrase -out plain.key")?;
    let client = [folder.join("ca.pem"), folder.join("plain.key")].map(fs::read_to_string);
    let [certificate, key] = client;
    fs::write(folder.join("client.pem"), certificate? + &key?)?;
    Ok(())
}

fn openssl(folder: &Path, arguments: &str) -> anyhow::Result<()> {
    let mut command = Command::new("openssl");
    let output =
        command.args(arguments.split_whitespace()).current_dir(folder).output().context("run openssl")?;
    if !output.status.success() {
        bail!("`openssl {arguments}` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
