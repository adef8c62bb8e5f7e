//! PLACEHOLDER until the real package is merged: reads the description of a cloud that runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// What a test needs to know of a cloud.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "placeholder")]
pub struct Description {
    pub auth_url: String,
    pub region: String,
    pub tls: Tls,
    pub admin: Account,
    pub member: Account,
    pub other: Account,
    pub application_credential: ApplicationCredential,
    pub client: PathBuf,
    pub python: PathBuf,
    pub run: PathBuf,
    pub logs: PathBuf,
    pub estate: Estate,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "placeholder")]
pub struct Tls {
    pub auth_url: String,
    pub region: String,
    pub ca_file: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "placeholder")]
pub struct Account {
    pub user: String,
    pub password: String,
    pub project: String,
    pub domain: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "placeholder")]
pub struct ApplicationCredential {
    pub id: String,
    pub name: String,
    pub secret: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "placeholder")]
pub struct Estate {
    pub project: String,
    pub user: String,
    pub external_network: String,
    pub external_subnet: String,
    pub network: String,
    pub subnet: String,
    pub subnet6: String,
    pub router: String,
    pub security_group: String,
    pub image: String,
    pub flavor: String,
    pub zones: Vec<String>,
    pub servers: Vec<Server>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "placeholder")]
pub struct Server {
    pub name: String,
    pub id: String,
    pub address: String,
}

/// A cloud that runs.
#[derive(Clone, Debug)]
pub struct Cloud {
    description: Description,
}

#[allow(missing_docs, clippy::missing_errors_doc, reason = "placeholder")]
impl Cloud {
    pub fn open() -> anyhow::Result<Self> {
        let path = std::env::var("BOWLINE_CLOUD_JSON").context("BOWLINE_CLOUD_JSON")?;
        let text = std::fs::read_to_string(path)?;
        Ok(Self { description: serde_json::from_str(&text)? })
    }

    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    #[must_use]
    pub fn service(&self, name: &str) -> Service {
        Service { name: name.to_owned(), run: self.description.run.clone() }
    }

    /// Has the database perform a statement.
    pub fn sql(&self, database: &str, statement: &str) -> anyhow::Result<String> {
        let password = format!("-p{}", self.description.admin.password);
        let output = Command::new("mariadb")
            .args([
                "--no-defaults",
                "-uroot",
                &password,
                "-h127.0.0.1",
                "-P13306",
                "-N",
                "-e",
                statement,
                database,
            ])
            .output()?;
        ensure!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// One of its services.
#[derive(Clone, Debug)]
pub struct Service {
    name: String,
    run: PathBuf,
}

#[allow(missing_docs, clippy::missing_errors_doc, reason = "placeholder")]
impl Service {
    pub fn stop(&self) -> anyhow::Result<()> {
        let pid = self.pid()?;
        run(Command::new("kill").args(["-TERM", &pid]))?;
        while Path::new("/proc").join(&pid).exists() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Ok(())
    }

    pub fn start(&self) -> anyhow::Result<()> {
        run(&mut Command::new(self.run.join("../start.sh")))
    }

    pub fn freeze(&self) -> anyhow::Result<()> {
        self.signal_all("-STOP")
    }

    pub fn thaw(&self) -> anyhow::Result<()> {
        self.signal_all("-CONT")
    }

    fn pid(&self) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(self.run.join(format!("{}.pid", self.name)))?.trim().to_owned())
    }

    fn signal_all(&self, signal: &str) -> anyhow::Result<()> {
        let output = Command::new("ps").args(["-o", "pid=", "-s", &self.pid()?]).output()?;
        for pid in String::from_utf8(output.stdout)?.split_whitespace() {
            run(Command::new("kill").args([signal, pid]))?;
        }
        Ok(())
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    ensure!(command.status()?.success(), "{command:?} failed");
    Ok(())
}
