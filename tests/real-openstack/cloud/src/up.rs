//! The life of the whole cloud: up, down, forgotten.
//!
//! One command at a time: each takes the lock of the folder.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::configure::{configure, make_folders};
use crate::description::Description;
use crate::install::install;
use crate::interrupt::Interrupt;
use crate::machine::{Unsupported, account, as_root};
use crate::process::{self, Record};
use crate::progress::Progress;
use crate::settings::{Choices, Settings};
use crate::start::Starter;
use crate::units::{self, Kind, OCTAVIA_SOCKETS, Operator, Unit};

/// OpenStack's services would wait up to a minute for work in hand; what is cut off here is the test's business.
const SERVICE_GRACE: Duration = Duration::from_secs(4);
/// The database and the queue have to write what they hold.
const FOUNDATION_GRACE: Duration = Duration::from_secs(60);

/// Installs what is missing, configures, starts and seeds the cloud; what runs already is left alone.
///
/// # Errors
/// When something fails, with the end of its log. [`Unsupported`] when this machine cannot run it at all, and
/// [`crate::Interrupted`] when we were told to end.
pub fn up(
    settings: &Settings,
    choices: &Choices,
    fresh: bool,
    interrupt: &Interrupt,
) -> anyhow::Result<Description> {
    let _lock = lock(settings)?;
    let progress = Progress::spoken();
    // Tables that were half made when the first start failed cannot be made again.
    let is_unfinished = settings.data().exists() && !settings.description_file().exists();
    if is_unfinished {
        progress.say("the first start never came to its end: from the beginning");
    }
    if fresh || is_unfinished {
        stop_all(settings, progress)?;
        forget_data(settings)?;
    }
    put_logs_aside(settings)?;
    make_folders(settings)?;
    install(settings, progress, interrupt)?;
    prepare_octavia_sockets()?;
    let operator = Operator::of(settings)?;
    configure(settings, choices, &operator)?;
    let units = units::all(settings, &operator);
    let starter = Starter { settings, progress, interrupt };
    starter.start(&units)?;
    let description = Description::compose(settings, &operator.password)?;
    description.write(settings)?;
    progress.say(&format!("the cloud is up: {}", settings.description_file().display()));
    Ok(description)
}

/// Installs what is missing, and starts nothing.
///
/// # Errors
/// As [`up`].
pub fn prepare(settings: &Settings, interrupt: &Interrupt) -> anyhow::Result<()> {
    let _lock = lock(settings)?;
    // Nothing else yet: a folder of data without a description is taken for a start that failed.
    fs::create_dir_all(settings.logs()).with_context(|| format!("create {}", settings.logs().display()))?;
    install(settings, Progress::spoken(), interrupt)
}

/// Ends everything that was started, by its recorded process.
///
/// # Errors
/// When another command is at work, or something cannot be ended.
pub fn down(settings: &Settings) -> anyhow::Result<()> {
    if !settings.folder().exists() {
        return Ok(());
    }
    let _lock = lock(settings)?;
    stop_all(settings, Progress::spoken())
}

/// Ends everything and forgets all data; `everything` removes the installation, too.
///
/// # Errors
/// As [`down`], and when a folder cannot be removed.
pub fn wipe(settings: &Settings, everything: bool) -> anyhow::Result<()> {
    if !settings.folder().exists() {
        return Ok(());
    }
    let _lock = lock(settings)?;
    stop_all(settings, Progress::spoken())?;
    if everything {
        return remove(settings.folder());
    }
    forget_data(settings)
}

fn stop_all(settings: &Settings, progress: Progress) -> anyhow::Result<()> {
    let (foundation, services): (Vec<_>, Vec<_>) = {
        let names = foundation_names(settings);
        process::records(settings).into_iter().partition(|(name, _)| names.contains(name))
    };
    if foundation.is_empty() && services.is_empty() {
        progress.say("nothing runs");
        return Ok(());
    }
    process::end(settings, &services, SERVICE_GRACE)?;
    progress.say(&format!("ended {} services", services.len()));
    process::end(settings, &foundation, FOUNDATION_GRACE)?;
    progress.say(&format!("ended what they stand on: {} more", foundation.len()));
    let left: Vec<&str> = services
        .iter()
        .chain(&foundation)
        .filter(|(_, record)| record.is_running())
        .map(|(name, _)| name.as_str())
        .collect();
    if !left.is_empty() {
        bail!("these cannot be ended: {}", left.join(", "));
    }
    Ok(())
}

fn foundation_names(settings: &Settings) -> Vec<String> {
    let units = units::all(settings, &Operator::default());
    let is_foundation = |unit: &Unit| matches!(&unit.kind, Kind::Service(service) if service.is_foundation);
    units.into_iter().filter(is_foundation).map(|unit| unit.name).collect()
}

/// The logs of the last start are kept, older ones are not.
fn put_logs_aside(settings: &Settings) -> anyhow::Result<()> {
    let runs = process::records(settings).iter().any(|(_, record): &(String, Record)| record.is_running());
    if runs || !settings.logs().exists() {
        return Ok(());
    }
    let previous = settings.folder().join("logs.previous");
    remove(&previous)?;
    fs::rename(settings.logs(), &previous).context("put the logs aside")
}

/// The only thing outside the cloud's folder: see [`OCTAVIA_SOCKETS`].
fn prepare_octavia_sockets() -> anyhow::Result<()> {
    let folder = Path::new(OCTAVIA_SOCKETS);
    if fs::create_dir_all(folder).is_ok() && is_ours(folder) {
        return Ok(());
    }
    let account = account()?;
    let command = format!("install -d -o {account} {OCTAVIA_SOCKETS}");
    let made = match as_root("install")? {
        Some(mut install) => install.args(["-d", "-o", &account, OCTAVIA_SOCKETS]).status()?.success(),
        None => false,
    };
    if !made {
        return Err(Unsupported(format!(
            "Octavia needs the folder {OCTAVIA_SOCKETS}, and only root may make it: run `sudo {command}`"
        ))
        .into());
    }
    Ok(())
}

/// Whether a folder belongs to the account that owns our own home in `/proc`.
fn is_ours(folder: &Path) -> bool {
    let owner = |path: &Path| fs::metadata(path).map(|metadata| metadata.uid()).ok();
    owner(folder) == owner(Path::new("/proc/self"))
}

fn forget_data(settings: &Settings) -> anyhow::Result<()> {
    for folder in [settings.data(), settings.etc(), settings.run(), settings.logs()] {
        remove(&folder)?;
    }
    remove_file(&settings.description_file())
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(())
}

fn remove_file(file: &Path) -> anyhow::Result<()> {
    if file.exists() {
        fs::remove_file(file).with_context(|| format!("remove {}", file.display()))?;
    }
    Ok(())
}

/// Held until it is dropped.
fn lock(settings: &Settings) -> anyhow::Result<File> {
    fs::create_dir_all(settings.folder())
        .with_context(|| format!("create {}", settings.folder().display()))?;
    let path = settings.folder().join("lock");
    let file = File::create(&path).with_context(|| format!("open {}", path.display()))?;
    if file.try_lock().is_err() {
        bail!("another command is at work on the cloud in {}: wait for it", settings.folder().display());
    }
    Ok(file)
}
