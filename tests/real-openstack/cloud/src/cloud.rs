//! The running cloud, in a test's hands: its description, its services to stop and freeze, its databases.
//!
//! Everything is ended by its recorded process only.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};

use crate::description::Description;
use crate::http;
use crate::interrupt::Interrupt;
use crate::process::{self, Record};
use crate::progress::{Progress, tail};
use crate::settings::{APIS, Settings, port};
use crate::start::Starter;
use crate::units::{self, Kind, Operator, Unit};

const ANSWER_LIMIT: Duration = Duration::from_secs(20);
const STOP_GRACE: Duration = Duration::from_secs(10);
const FREEZE_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The cloud that `up` started.
#[derive(Clone, Debug)]
pub struct Cloud {
    settings: Settings,
    description: Description,
    operator: Operator,
}

/// A service of the cloud, to break and mend.
#[derive(Clone, Debug)]
pub struct Service<'a> {
    cloud: &'a Cloud,
    unit: Unit,
}

/// Tables that nobody else can read or write until this is dropped.
#[derive(Debug)]
pub struct TableLock(Child);

impl Cloud {
    /// The cloud of this user.
    ///
    /// # Errors
    /// When it was never seeded, or an API does not answer; the message says what to run.
    pub fn open() -> anyhow::Result<Self> {
        Self::open_in(Settings::locate())
    }

    /// The cloud in a folder.
    ///
    /// # Errors
    /// As [`Cloud::open`].
    pub fn open_in(settings: Settings) -> anyhow::Result<Self> {
        let description = Description::read(&settings)?;
        for api in &APIS {
            let status = http::status(api.port, api.probe, ANSWER_LIMIT);
            if !status.is_some_and(http::is_answer) {
                bail!(
                    "{} does not answer ({status:?}): `cargo xtask cloud up` starts what does not run",
                    api.name
                );
            }
        }
        let operator = Operator::of(&settings)?;
        Ok(Self { settings, description, operator })
    }

    /// Everything that was seeded.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// A service by its name, as `status` lists them: an API by the project's name (`octavia`), a worker by its program's
    /// (`octavia-worker`), `mariadb`, `rabbitmq`, `nginx` …
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn service(&self, name: &str) -> anyhow::Result<Service<'_>> {
        let unit = find_service(&self.settings, &self.operator, name)?;
        Ok(Service { cloud: self, unit })
    }

    /// Runs a statement in a database (`octavia`, `nova`, `neutron` …) and gives back the rows, fields separated by tabs.
    ///
    /// # Errors
    /// What the database says.
    pub fn sql(&self, database: &str, statement: &str) -> anyhow::Result<Vec<String>> {
        let mut command = self.database_client(database);
        let output = command.arg("--execute").arg(statement).output().context("run the mariadb client")?;
        if !output.status.success() {
            bail!("`{statement}` failed in {database}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }

    /// Locks tables of a database until the answer is dropped: calls that need them hang, as with a database in trouble.
    ///
    /// # Errors
    /// When the database refuses it.
    pub fn lock_tables(&self, database: &str, tables: &[&str]) -> anyhow::Result<TableLock> {
        let tables: Vec<String> = tables.iter().map(|table| format!("`{table}` WRITE")).collect();
        let mut command = self.database_client(database);
        command.arg("--unbuffered").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut lock = TableLock(command.spawn().context("run the mariadb client")?);
        let statements = format!("LOCK TABLES {}; SELECT 'locked';\n", tables.join(", "));
        let stdin = lock.0.stdin.as_mut().context("the client's input")?;
        stdin.write_all(statements.as_bytes()).and_then(|()| stdin.flush()).context("tell the client")?;
        let stdout = lock.0.stdout.take().context("the client's output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if line.trim() != "locked" {
            bail!("{database} did not lock {}: its log says what it was waiting for", tables.join(", "));
        }
        Ok(lock)
    }

    /// Makes all services forget the tokens that they have asked Keystone about; else they believe one for minutes after it was
    /// revoked.
    ///
    /// # Errors
    /// When memcached does not say that it forgot.
    pub fn forget_tokens(&self) -> anyhow::Result<()> {
        let mut cache = TcpStream::connect(("127.0.0.1", port("memcached"))).context("reach memcached")?;
        cache.set_read_timeout(Some(ANSWER_LIMIT))?;
        cache.write_all(b"flush_all\r\n")?;
        let mut said = [0; 2];
        cache.read_exact(&mut said).context("read memcached's answer")?;
        if &said != b"OK" {
            bail!("memcached does not forget: {}", String::from_utf8_lossy(&said));
        }
        Ok(())
    }

    /// The last lines of a service's log.
    #[must_use]
    pub fn logs_tail(&self, name: &str) -> String {
        tail(&self.settings.log(name))
    }

    fn database_client(&self, database: &str) -> Command {
        let mut command = Command::new("mariadb");
        command.args(["--no-defaults", "--user=root", "--batch", "--raw", "--skip-column-names"]);
        command.arg(format!("--socket={}", self.settings.database_socket().display())).arg(database);
        command.env("MYSQL_PWD", &self.operator.password);
        command
    }
}

impl Service<'_> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.unit.name
    }

    /// Whether it runs; a frozen one does.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.record().is_some_and(|record| record.is_running())
    }

    /// Starts it if it does not run, and waits until it is ready; a frozen one goes on.
    ///
    /// # Errors
    /// When it does not become ready, with the end of its log.
    pub fn start(&self) -> anyhow::Result<()> {
        start(&self.cloud.settings, &self.unit)
    }

    /// Ends it with all its processes: asks, and kills what is left after ten seconds.
    ///
    /// # Errors
    /// When signals cannot be sent.
    pub fn stop(&self) -> anyhow::Result<()> {
        stop(&self.cloud.settings, &self.unit, STOP_GRACE)
    }

    /// Kills it with all its processes, in the middle of whatever it does.
    ///
    /// # Errors
    /// When signals cannot be sent.
    pub fn kill(&self) -> anyhow::Result<()> {
        if let Some(record) = self.record() {
            record.signal_all("KILL")?;
        }
        stop(&self.cloud.settings, &self.unit, STOP_GRACE)
    }

    /// Freezes all its processes: calls to it are accepted and never answered.
    ///
    /// # Errors
    /// When it does not run, or signals cannot be sent.
    pub fn freeze(&self) -> anyhow::Result<()> {
        freeze(&self.cloud.settings, &self.unit.name)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it does not run, or signals cannot be sent.
    pub fn thaw(&self) -> anyhow::Result<()> {
        thaw(&self.cloud.settings, &self.unit.name)
    }

    fn record(&self) -> Option<Record> {
        Record::read(&self.cloud.settings, &self.unit.name)
    }
}

impl Drop for TableLock {
    fn drop(&mut self) {
        // The lock ends with the connection. The client may be gone already: then so is the lock.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A service by its name.
pub(crate) fn find_service(settings: &Settings, operator: &Operator, name: &str) -> anyhow::Result<Unit> {
    let units =
        units::all(settings, operator).into_iter().filter(|unit| matches!(unit.kind, Kind::Service(_)));
    let all: Vec<Unit> = units.collect();
    let names: Vec<&str> = all.iter().map(|unit| unit.name.as_str()).collect();
    let error = anyhow!("no service {name:?}; there are {}", names.join(", "));
    all.iter().find(|unit| unit.name == name).cloned().ok_or(error)
}

pub(crate) fn start(settings: &Settings, unit: &Unit) -> anyhow::Result<()> {
    let alone = Unit { needs: Vec::new(), ..unit.clone() };
    let starter = Starter { settings, progress: Progress::silent(), interrupt: &Interrupt::default() };
    starter.start(&[alone])
}

pub(crate) fn stop(settings: &Settings, unit: &Unit, grace: Duration) -> anyhow::Result<()> {
    match Record::read(settings, &unit.name) {
        Some(record) => process::end(settings, &[(unit.name.clone(), record)], grace),
        None => Ok(()),
    }
}

pub(crate) fn freeze(settings: &Settings, name: &str) -> anyhow::Result<()> {
    let record = running(settings, name)?;
    record.signal_all("STOP")?;
    let deadline = Instant::now() + FREEZE_LIMIT;
    while !record.is_frozen() {
        if Instant::now() > deadline {
            bail!("{name} does not freeze");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

pub(crate) fn thaw(settings: &Settings, name: &str) -> anyhow::Result<()> {
    running(settings, name)?.signal_all("CONT")
}

fn running(settings: &Settings, name: &str) -> anyhow::Result<Record> {
    let record = Record::read(settings, name).filter(Record::is_running);
    record.ok_or_else(|| anyhow!("{name} does not run"))
}
