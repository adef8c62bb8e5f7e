//! Walks the list of units: starts each as soon as what it needs is there, and waits until all are ready.
//!
//! One loop decides; nothing here knows what a unit is for.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Child;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::http;
use crate::interrupt::Interrupt;
use crate::process::{self, Launch, Record, let_go, spawn};
use crate::progress::{Progress, tail};
use crate::settings::Settings;
use crate::units::{Kind, Port, Ready, Service, Unit, When};

/// For one unit, also on a slow machine that reads everything from disk for the first time.
const PATIENCE: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Long: a service that still loads keeps the question and answers it later; asking again would only add to its work.
const PROBE_LIMIT: Duration = Duration::from_secs(60);
const END_GRACE: Duration = Duration::from_secs(5);

/// How many may be starting at the same time for each core: more would only make each of them slower.
const STARTING_PER_CORE: usize = 3;

/// Starts units of one cloud.
pub(crate) struct Starter<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) progress: Progress,
    pub(crate) interrupt: &'a Interrupt,
}

/// How far a unit is.
enum State {
    Waiting,
    Starting(Starting),
    Ready,
}

/// A unit between its start and being ready.
struct Starting {
    since: Instant,
    /// It was not found running.
    is_new: bool,
    /// The program of a task that runs now, and its place in the list of steps.
    task: Option<(Child, usize)>,
    /// Asks an API, which may take long to answer, until it does.
    probe: Option<JoinHandle<()>>,
}

impl Starter<'_> {
    /// Starts what does not run. When it is interrupted, what it started is ended again.
    pub(crate) fn start(&self, units: &[Unit]) -> anyhow::Result<()> {
        self.require_free_ports(units)?;
        let mut begun = Vec::new();
        let result = self.walk(units, &mut begun);
        if result.is_err() {
            self.end_begun(units, &begun)?;
        }
        result
    }

    /// After a failure, services are left for a look at them; a task would only be in the way of the next try.
    fn end_begun(&self, units: &[Unit], begun: &[String]) -> anyhow::Result<()> {
        let all = self.interrupt.is_requested();
        let ends =
            |unit: &&Unit| begun.contains(&unit.name) && (all || matches!(unit.kind, Kind::Task { .. }));
        let ours: Vec<_> = units
            .iter()
            .filter(ends)
            .filter_map(|unit| Some((unit.name.clone(), Record::read(self.settings, &unit.name)?)))
            .collect();
        if all {
            self.progress.say("interrupted: ending what was started");
        }
        process::end(self.settings, &ours, END_GRACE)
    }

    fn walk(&self, units: &[Unit], begun: &mut Vec<String>) -> anyhow::Result<()> {
        let mut states: Vec<State> = units.iter().map(|_| State::Waiting).collect();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut ready = BTreeSet::new();
        let mut starting = 0;
        while ready.len() < units.len() {
            if self.interrupt.is_requested() {
                return Err(self.interrupt.error());
            }
            let before = (ready.len(), starting);
            for (unit, state) in units.iter().zip(&mut states) {
                let may_start = starting < cores * STARTING_PER_CORE
                    && unit.needs.iter().all(|need| ready.contains(need.as_str()));
                match state {
                    State::Waiting if may_start => {
                        *state = self.begin(unit, begun)?;
                        starting += usize::from(matches!(state, State::Starting(_)));
                    }
                    State::Starting(progress) => {
                        if self.is_ready(unit, progress)? {
                            *state = State::Ready;
                            starting -= 1;
                        }
                    }
                    State::Waiting | State::Ready => {}
                }
                if matches!(state, State::Ready) {
                    ready.insert(unit.name.as_str());
                }
            }
            if before == (ready.len(), starting) {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        self.require_running(units)
    }

    fn begin(&self, unit: &Unit, begun: &mut Vec<String>) -> anyhow::Result<State> {
        match &unit.kind {
            Kind::Task { when: When::Once, .. } if self.marker(unit).exists() => Ok(State::Ready),
            Kind::Task { steps, .. } => {
                if let Some(left) = Record::read(self.settings, &unit.name) {
                    process::end(self.settings, &[(unit.name.clone(), left)], END_GRACE)?;
                }
                begun.push(unit.name.clone());
                let task = self.next_step(unit, steps, 0)?;
                Ok(State::Starting(Starting { since: Instant::now(), is_new: true, task, probe: None }))
            }
            Kind::Service(service) => self.begin_service(unit, service, begun),
        }
    }

    fn begin_service(
        &self,
        unit: &Unit,
        service: &Service,
        begun: &mut Vec<String>,
    ) -> anyhow::Result<State> {
        let fingerprint = service.launch.fingerprint(&service.files);
        let found = Record::read(self.settings, &unit.name).filter(Record::is_running);
        let is_new = found.is_none_or(|record| record.fingerprint != fingerprint);
        match found {
            Some(record) if record.fingerprint == fingerprint => record.signal_all("CONT")?,
            other => {
                if let Some(record) = other {
                    self.progress
                        .say(&format!("{}: its configuration changed, it is started anew", unit.name));
                    process::end(self.settings, &[(unit.name.clone(), record)], END_GRACE)?;
                }
                if let Ready::Socket(path) = &service.ready {
                    remove_stale(path)?;
                }
                begun.push(unit.name.clone());
                let_go(spawn(self.settings, &unit.name, &service.launch, fingerprint)?);
            }
        }
        let probe = match &service.ready {
            Ready::Started => return Ok(State::Ready),
            Ready::Http { port, path } => Some(probe(*port, path)),
            Ready::Port(_) | Ready::Socket(_) => None,
        };
        Ok(State::Starting(Starting { since: Instant::now(), is_new, task: None, probe }))
    }

    /// Whether it became ready; that it failed, or takes too long, is an error.
    fn is_ready(&self, unit: &Unit, starting: &mut Starting) -> anyhow::Result<bool> {
        let ready = match &unit.kind {
            Kind::Service(service) => self.is_service_ready(unit, service, starting)?,
            Kind::Task { steps, .. } => self.is_task_done(unit, steps, starting)?,
        };
        if ready && starting.is_new {
            let seconds = starting.since.elapsed().as_secs_f64();
            self.progress.say(&format!("{} ({seconds:.1} s)", unit.name));
        }
        if !ready && starting.since.elapsed() > PATIENCE {
            bail!("{} was not ready after {} s; {}", unit.name, PATIENCE.as_secs(), self.log_end(unit));
        }
        Ok(ready)
    }

    fn is_service_ready(&self, unit: &Unit, service: &Service, starting: &Starting) -> anyhow::Result<bool> {
        if !Record::read(self.settings, &unit.name).is_some_and(|record| record.is_running()) {
            bail!("{} ended while it started; {}", unit.name, self.log_end(unit));
        }
        Ok(match &service.ready {
            Ready::Started => true,
            Ready::Port(port) => TcpStream::connect_timeout(&loopback(*port), PROBE_LIMIT).is_ok(),
            Ready::Socket(path) => path.exists(),
            Ready::Http { .. } => starting.probe.as_ref().is_some_and(JoinHandle::is_finished),
        })
    }

    fn is_task_done(&self, unit: &Unit, steps: &[Launch], starting: &mut Starting) -> anyhow::Result<bool> {
        let Some((child, step)) = &mut starting.task else { return Ok(true) };
        let Some(status) = child.try_wait()? else { return Ok(false) };
        process::forget(self.settings, &unit.name)?;
        if !status.success() {
            bail!("{} failed ({status}); {}", unit.name, self.log_end(unit));
        }
        starting.task = self.next_step(unit, steps, *step + 1)?;
        if starting.task.is_none() {
            fs::write(self.marker(unit), "").context("note that a task is done")?;
        }
        Ok(starting.task.is_none())
    }

    fn next_step(
        &self,
        unit: &Unit,
        steps: &[Launch],
        step: usize,
    ) -> anyhow::Result<Option<(Child, usize)>> {
        let Some(launch) = steps.get(step) else { return Ok(None) };
        Ok(Some((spawn(self.settings, &unit.name, launch, 0)?, step)))
    }

    /// A service that others wait for by themselves may have ended unseen.
    fn require_running(&self, units: &[Unit]) -> anyhow::Result<()> {
        for unit in units.iter().filter(|unit| matches!(unit.kind, Kind::Service(_))) {
            if !Record::read(self.settings, &unit.name).is_some_and(|record| record.is_running()) {
                bail!("{} ended; {}", unit.name, self.log_end(unit));
            }
        }
        Ok(())
    }

    fn require_free_ports(&self, units: &[Unit]) -> anyhow::Result<()> {
        for unit in units {
            let Kind::Service(service) = &unit.kind else { continue };
            if Record::read(self.settings, &unit.name).is_some_and(|record| record.is_running()) {
                continue;
            }
            if let Some(port) = service.ports.iter().find(|port| !is_free(**port)) {
                let (Port::Tcp(number) | Port::Udp(number)) = port;
                bail!(
                    "{} needs port {number} of 127.0.0.1, and something else has it: `ss -lntup 'sport = :{number}'` as root \
                     shows what",
                    unit.name
                );
            }
        }
        Ok(())
    }

    fn marker(&self, unit: &Unit) -> PathBuf {
        self.settings.data().join("done").join(&unit.name)
    }

    fn log_end(&self, unit: &Unit) -> String {
        let log = self.settings.log(&unit.name);
        format!("the end of {}:\n{}", log.display(), tail(&log))
    }
}

/// Asks until there is an answer, in the background.
fn probe(port: u16, path: &'static str) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && !http::status(port, path, PROBE_LIMIT).is_some_and(http::is_answer)
        {
            std::thread::sleep(POLL_INTERVAL);
        }
    })
}

fn remove_stale(path: &PathBuf) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn is_free(port: Port) -> bool {
    match port {
        Port::Tcp(port) => TcpListener::bind(loopback(port)).is_ok(),
        Port::Udp(port) => UdpSocket::bind(loopback(port)).is_ok(),
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

#[cfg(test)]
mod tests;
