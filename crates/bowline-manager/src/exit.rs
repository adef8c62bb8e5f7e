//! How the process ends: the exit codes that init systems, kubelets and people who know the Go managers expect.
//!
//! This file only names the endings. Deciding that the process ends, draining and releasing the Lease are done elsewhere.

use std::process::ExitCode;

/// Why the process ends.
///
/// Code 2 is missing on purpose: in the Go managers it means a panic, and here a panic stays inside its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: what was asked for is done, which for a manager means `--version` or `--help`.
    Success,
    /// 1: a restart may help, or a person must change the command line: a bad flag, a failed validation, a
    /// configuration that cannot be read, a listener or certificate error. Also a lost Lease, main or migration: the
    /// process must go, so that its successor is alone, and a restarted one stands by again.
    Failed,
    /// 255: the manager could not start its work: the cloud provider or the cluster ID was refused, the API server was
    /// not healthy after this process became leader, or a controller's configuration is bad (a wrong cluster CIDR, say).
    Fatal,
    /// 128 and the number of the signal, as a shell reports a process that was ended by one. Ours drains and releases
    /// the Lease first, yet reports the same code, so that whoever watches for it sees no difference.
    Signal(StopSignal),
}

/// A signal that asks the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT (2), Ctrl-C in a terminal: exit code 130.
    Interrupt,
    /// SIGTERM (15), what a kubelet sends first: exit code 143.
    Terminate,
}

impl Exit {
    /// The number the parent process sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Fatal => 255,
            Self::Signal(StopSignal::Interrupt) => 130,
            Self::Signal(StopSignal::Terminate) => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_of_the_go_managers() {
        let codes = [
            (Exit::Success, 0),
            (Exit::Failed, 1),
            (Exit::Fatal, 255),
            (Exit::Signal(StopSignal::Terminate), 128 + 15),
            (Exit::Signal(StopSignal::Interrupt), 128 + 2),
        ];
        for (exit, code) in codes {
            assert_eq!(exit.code(), code, "{exit:?}");
            assert_eq!(
                format!("{:?}", ExitCode::from(exit)),
                format!("{:?}", ExitCode::from(code)),
                "{exit:?}"
            );
        }
    }
}
