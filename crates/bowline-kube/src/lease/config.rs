//! The configuration of a leader election, and the rules for its times. Pure.

use std::time::Duration;

use super::plan::JITTER;

/// The configuration of one election: the Lease, the identity and the times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseConfig {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The identity of this process; operators expect `<hostname>_<uuid>`. Must be unique for each start of the process.
    pub identity: String,
    /// How long other candidates wait, after the last change that they observed, before they take over.
    pub lease_duration: Duration,
    /// How long the leader retries a renewal before it gives up.
    pub renew_deadline: Duration,
    /// The pause between two attempts.
    pub retry_period: Duration,
}

/// Invalid times or names. The message names the flag to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseConfigError {
    /// A name is missing.
    #[error("leader election needs a {0}, but it is empty")]
    Empty(&'static str),
    /// A time is zero, or the lease duration is shorter than one second, the resolution of a Lease.
    #[error("{flag} is {found:?}, but must be at least {least:?}")]
    TooShort {
        /// The flag.
        flag: &'static str,
        /// The configured value.
        found: Duration,
        /// The minimum.
        least: Duration,
    },
    /// The leader would still try to renew while other candidates already take over.
    #[error(
        "--leader-elect-lease-duration ({lease:?}) must be greater than --leader-elect-renew-deadline ({renew:?}), \
         or another replica takes over while this one still tries to renew"
    )]
    LeaseNotAboveRenew {
        /// The lease duration.
        lease: Duration,
        /// The renew deadline.
        renew: Duration,
    },
    /// There would be no time for a second attempt.
    #[error(
        "--leader-elect-renew-deadline ({renew:?}) must be greater than 1.2 times --leader-elect-retry-period \
         ({retry:?}), or one failed renewal loses the lease"
    )]
    RenewNotAboveRetry {
        /// The renew deadline.
        renew: Duration,
        /// The retry period.
        retry: Duration,
    },
}

impl LeaseConfig {
    /// Checks the names and the times.
    ///
    /// # Errors
    ///
    /// The first rule that is violated.
    pub fn validate(&self) -> Result<(), LeaseConfigError> {
        let names = [("namespace", &self.namespace), ("name", &self.name), ("identity", &self.identity)];
        if let Some((what, _)) = names.into_iter().find(|(_, value)| value.is_empty()) {
            return Err(LeaseConfigError::Empty(what));
        }
        let second = Duration::from_secs(1);
        let instant = Duration::from_nanos(1);
        for (flag, found, least) in [
            ("--leader-elect-lease-duration", self.lease_duration, second),
            ("--leader-elect-renew-deadline", self.renew_deadline, instant),
            ("--leader-elect-retry-period", self.retry_period, instant),
        ] {
            if found < least {
                return Err(LeaseConfigError::TooShort { flag, found, least });
            }
        }
        if self.lease_duration <= self.renew_deadline {
            return Err(LeaseConfigError::LeaseNotAboveRenew {
                lease: self.lease_duration,
                renew: self.renew_deadline,
            });
        }
        if self.renew_deadline <= self.retry_period.mul_f64(JITTER) {
            return Err(LeaseConfigError::RenewNotAboveRetry {
                renew: self.renew_deadline,
                retry: self.retry_period,
            });
        }
        Ok(())
    }

    /// The lease duration in whole seconds, as written to the Lease.
    #[must_use]
    pub fn lease_seconds(&self) -> i32 {
        i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)
    }

    /// The timeout of one API call.
    #[must_use]
    pub fn call_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// How long the fence stays open after the start of a renewal that succeeded.
    ///
    /// Another candidate counts the lease from when it *observed* our renewal, which is after we sent it. Counting from the start of our
    /// request is therefore safe if all clocks run at the same rate. The margin covers clocks that do not (NTP slews by up to 0.05 %) and,
    /// more importantly, the time between the check of the fence and the first byte of the mutation that leaves this machine. The margin
    /// never reduces the renew deadline, so a healthy leader never finds the fence closed.
    #[must_use]
    pub fn fence_span(&self) -> Duration {
        let lease = Duration::from_secs(self.lease_duration.as_secs());
        let slack = lease.saturating_sub(self.renew_deadline) / 2;
        lease.saturating_sub((lease / 10).min(slack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(lease: u64, renew: u64, retry: u64) -> LeaseConfig {
        LeaseConfig {
            namespace: "kube-system".into(),
            name: "cloud-controller-manager".into(),
            identity: "host_1".into(),
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
        }
    }

    #[test]
    fn the_times_of_upstream_and_of_openshift_are_accepted() {
        assert_eq!(config(15_000, 10_000, 2_000).validate(), Ok(()));
        assert_eq!(config(137_000, 107_000, 26_000).validate(), Ok(()));
    }

    #[test]
    fn times_that_cannot_work_are_refused_with_the_flag_to_change() {
        for (bad, flag) in [
            (config(10_000, 10_000, 2_000), "--leader-elect-lease-duration (10s)"),
            (config(15_000, 2_400, 2_000), "--leader-elect-renew-deadline (2.4s)"),
            (config(0, 10_000, 2_000), "--leader-elect-lease-duration is 0ns"),
            (config(900, 500, 200), "--leader-elect-lease-duration is 900ms"),
            (config(15_000, 0, 2_000), "--leader-elect-renew-deadline is 0ns"),
            (config(15_000, 10_000, 0), "--leader-elect-retry-period is 0ns"),
        ] {
            let message = bad.validate().unwrap_err().to_string();
            assert!(message.contains(flag), "{message}");
        }
        let nameless = LeaseConfig { identity: String::new(), ..config(15_000, 10_000, 2_000) };
        assert_eq!(nameless.validate(), Err(LeaseConfigError::Empty("identity")));
    }

    #[test]
    fn the_fence_closes_before_the_lease_and_not_before_the_renew_deadline() {
        for (lease, renew) in [(15_000, 10_000), (137_000, 107_000), (15_900, 15_000), (10_000, 9_900)] {
            let config = config(lease, renew, 1_000);
            let (span, whole) = (config.fence_span(), Duration::from_secs(lease / 1_000));
            assert!(span <= whole && span >= config.renew_deadline, "{lease}/{renew}: {span:?}");
        }
        assert_eq!(config(15_000, 10_000, 2_000).fence_span(), Duration::from_millis(13_500));
    }

    #[test]
    fn a_call_may_take_half_the_renew_deadline_but_at_least_a_second() {
        assert_eq!(config(15_000, 10_000, 2_000).call_timeout(), Duration::from_secs(5));
        assert_eq!(config(3_000, 1_000, 500).call_timeout(), Duration::from_secs(1));
    }
}
