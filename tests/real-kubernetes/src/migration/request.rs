//! One request as the cloud has seen it.

use std::fmt;
use std::time::Duration;

/// Which of the two managers of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one that was there.
    Old,
    /// The one that is migrated to.
    New,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Old => "old",
            Self::New => "new",
        })
    }
}

/// One process of a manager.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer {
    /// Of which manager.
    pub side: Side,
    /// Which process, as nothing else is called.
    pub process: String,
}

impl Writer {
    /// The name before the process's in the `User-Agent`.
    const PRODUCT: &'static str = "writer/";

    /// What a process is told to say in its `User-Agent`.
    #[must_use]
    pub fn agent(&self) -> String {
        format!("{}{}.{}", Self::PRODUCT, self.side, self.process)
    }

    /// The process that says this in its `User-Agent`.
    #[must_use]
    pub fn of_agent(agent: &str) -> Option<Self> {
        let word = agent.split(' ').find_map(|word| word.strip_prefix(Self::PRODUCT))?;
        let (side, process) = word.split_once('.')?;
        let side = [Side::Old, Side::New].into_iter().find(|known| known.to_string() == side)?;
        Some(Self { side, process: process.to_owned() })
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.side, self.process)
    }
}

/// One request that would change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// When it was answered, since the beginning of the run.
    pub at: Duration,
    /// Who asked.
    pub writer: Writer,
    /// `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// The name of what was to be made.
    pub name: Option<String>,
    /// The id of what was made.
    pub id: Option<String>,
}

impl Request {
    /// Whether it was done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, writer, method, path, status, .. } = self;
        write!(f, "{:.3} s {writer}: {method} {path} -> {status}", at.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_agent_wherever_it_stands() {
        let writer = Writer { side: Side::New, process: "cloud-7.2".to_owned() };
        assert_eq!(Writer::of_agent(&writer.agent()), Some(writer.clone()));
        assert_eq!(
            Writer::of_agent(&format!("{} openstack-cloud-controller-manager/v1", writer.agent())),
            Some(writer)
        );
        assert_eq!(Writer::of_agent("gophercloud/v2"), None);
    }
}
