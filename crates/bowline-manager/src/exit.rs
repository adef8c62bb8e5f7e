//! The exit codes of the process. They match those that init systems, kubelets and users of the Go managers expect.
//!
//! This module only defines the codes. Draining and releasing the Lease happen elsewhere.

use std::process::ExitCode;

/// Why the process ends.
///
/// Code 2 is unused on purpose: in the Go managers it means a panic, and here a panic is contained in its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: the command completed, which for a manager means `--version` or `--help`.
    Success,
    /// 1: a restart may help, or the command line must be corrected: a bad flag, a failed validation, an unreadable configuration, a
    /// listener or certificate error. Also a lost Lease, main or migration: the process exits so that only the new leader acts, and after a
    /// restart it stands by again.
    Failed,
    /// 255: the manager could not start its work: the cloud provider or the cluster ID was rejected, the API server was not healthy after
    /// this process became leader, or a controller's configuration is invalid (for example a wrong cluster CIDR).
    Fatal,
    /// 128 plus the number of the signal, as a shell reports a process ended by a signal. The manager shuts down in order and releases the
    /// Lease first, but reports the same code, so that supervisors see no difference.
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
    /// The exit code as a number.
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
