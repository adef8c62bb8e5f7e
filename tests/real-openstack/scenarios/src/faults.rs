//! Faults made for real: a service of the cloud that is stopped or frozen, a database that is locked. Each ends with its value at the
//! latest, so that a scenario that failed leaves a cloud that works.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use real_cloud::{Cloud, Service};

use crate::waiting::until;
use crate::world::World;

/// A service of the cloud that is out.
#[must_use = "it is over when this is dropped"]
pub(crate) struct Outage<'w> {
    service: Service<'w>,
    how: How,
    over: bool,
}

#[derive(Clone, Copy)]
enum How {
    Stopped,
    Frozen,
}

impl<'w> Outage<'w> {
    /// Its processes end: whoever asks is refused.
    pub(crate) fn stop(world: &'w World, service: &str) -> anyhow::Result<Self> {
        let service = world.cloud.service(service)?;
        service.stop()?;
        Ok(Self { service, how: How::Stopped, over: false })
    }

    /// Its processes stand still: whoever asks hears nothing.
    pub(crate) fn freeze(world: &'w World, service: &str) -> anyhow::Result<Self> {
        let service = world.cloud.service(service)?;
        let outage = Self { service, how: How::Frozen, over: false };
        outage.service.freeze()?;
        Ok(outage)
    }

    /// It comes back.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.over = true;
        self.back()
    }

    fn back(&self) -> anyhow::Result<()> {
        match self.how {
            How::Stopped => self.service.start(),
            How::Frozen => self.service.thaw(),
        }
    }
}

impl Drop for Outage<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        if let Err(error) = self.back() {
            eprintln!("a service of the cloud did not come back: {error:#}");
        }
    }
}

/// A lock in the cloud's database, held by somebody who does not let go.
#[must_use = "it is let go when this is dropped"]
pub(crate) struct DatabaseLock {
    cloud: Cloud,
    mark: String,
    holder: Option<JoinHandle<anyhow::Result<Vec<String>>>>,
}

/// Tells locks of one run apart.
static NUMBER: AtomicU32 = AtomicU32::new(1);

impl DatabaseLock {
    /// What `statements` lock stays locked. They end with a semicolon.
    pub(crate) async fn hold(world: &World, database: &str, statements: &str) -> anyhow::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("held-{}-{number}", std::process::id());
        let text = format!("{statements} select sleep(600), '{mark}'");
        let (cloud, database) = (world.cloud.clone(), database.to_owned());
        let holder = std::thread::spawn(move || cloud.sql(&database, &text));
        let lock = Self { cloud: world.cloud.clone(), mark, holder: Some(holder) };
        until("the database is locked", async || Ok((!lock.sessions()?.is_empty()).then_some(()))).await?;
        Ok(lock)
    }

    /// Lets go.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.release()
    }

    /// The sessions that hold it.
    fn sessions(&self) -> anyhow::Result<Vec<String>> {
        let question = format!(
            "select id from information_schema.processlist where info like '%{}%' and id <> connection_id()",
            self.mark
        );
        self.cloud.sql("mysql", &question)
    }

    fn release(&mut self) -> anyhow::Result<()> {
        let Some(holder) = self.holder.take() else { return Ok(()) };
        for session in self.sessions()? {
            self.cloud.sql("mysql", &format!("kill {session}"))?;
        }
        // Its session was killed, which is an error to who held it.
        holder.join().ok();
        Ok(())
    }
}

impl Drop for DatabaseLock {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            eprintln!("the database stays locked: {error:#}");
        }
    }
}
