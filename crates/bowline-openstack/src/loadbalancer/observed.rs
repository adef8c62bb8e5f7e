//! The observed state of a Service together with its wanted state: a value that computes the plan and what is stored on the Service. Pure.

use std::sync::Arc;

use bowline_cloud::{
    BalancerPicture, Broken, LoadBalancerRequest, LoadBalancerStatus, Notes, ObservedLoadBalancer, Plan,
    Refusal, ServiceView, Shortfall, Text, Urgency,
};
use jiff::Timestamp;

use super::broken;
use super::fingerprint;
use super::found::Found;
use super::intent::Removal;
use super::notes;
use super::observe::hinted_address;
use super::picture;
use super::plan;
use super::shortfalls;
use super::step::CloudStep;
use super::wanted::Wanted;

/// The result of an observation for one request.
#[derive(Debug)]
pub struct Observed {
    service: Arc<ServiceView>,
    urgency: Urgency,
    /// The observed state and what it is compared with.
    pub observation: Observation,
}

/// The kinds of results of an observation.
#[derive(Debug)]
pub enum Observation {
    /// The Service is refused as it is.
    Refused(Refusal),
    /// The Service wants a load balancer.
    Ensure {
        /// The wanted state.
        wanted: Box<Wanted>,
        /// The observed state.
        found: Box<Found>,
    },
    /// The Service no longer wants a load balancer.
    Remove {
        /// What to remove.
        removal: Box<Removal>,
        /// The observed state.
        found: Box<Found>,
    },
    /// The Service no longer wants a load balancer; Octavia has none with its name, and Neutron no floating IP.
    Gone,
}

impl Observed {
    pub(super) fn of(request: &LoadBalancerRequest, observation: Observation) -> Self {
        Self { service: Arc::clone(&request.service), urgency: request.urgency, observation }
    }
}

impl ObservedLoadBalancer for Observed {
    type Step = CloudStep;

    fn plan(&self, _now: Timestamp) -> Plan<CloudStep, LoadBalancerStatus> {
        let mut plan = match &self.observation {
            Observation::Refused(refusal) => Plan::Refuse(refusal.clone()),
            Observation::Ensure { wanted, found } => plan::ensure(wanted, found),
            Observation::Remove { removal, found } => plan::remove(removal, found),
            Observation::Gone => Plan::Settled(LoadBalancerStatus::default()),
        };
        if let Plan::Act(steps) = &mut plan {
            steps.iter_mut().for_each(|planned| planned.step.for_whom_it_is(self.urgency));
        }
        plan
    }

    fn is_there(&self) -> bool {
        !matches!(self.observation, Observation::Gone)
    }

    fn annotations(&self) -> Notes {
        match &self.observation {
            Observation::Ensure { wanted, found } => {
                notes::notes(wanted, found, hinted_address(&self.service).is_some())
            }
            Observation::Gone => notes::removed(),
            Observation::Refused(_) | Observation::Remove { .. } => Notes::default(),
        }
    }

    fn fingerprint(&self) -> Option<Text> {
        let Observation::Ensure { wanted, found } = &self.observation else { return None };
        fingerprint::of(wanted, &found.balancer.as_ref()?.balancer, &self.service)
    }

    fn expected_status(&self) -> Option<LoadBalancerStatus> {
        let Observation::Ensure { wanted, found } = &self.observation else { return None };
        plan::outlook(wanted, found)
    }

    fn picture(&self) -> Option<BalancerPicture> {
        match &self.observation {
            Observation::Ensure { wanted, found } => picture::picture(&wanted.names, Some(wanted), found),
            Observation::Remove { removal, found } => picture::picture(&removal.names, None, found),
            Observation::Refused(_) | Observation::Gone => None,
        }
    }

    fn broken(&self) -> Option<Broken> {
        let Observation::Ensure { wanted, found } = &self.observation else { return None };
        // A load balancer that the Service only names, or may not use, is not its load balancer.
        let there = found.balancer.as_ref().filter(|there| broken::is_broken(&there.balancer))?;
        if !plan::has(wanted, found) {
            return None;
        }
        Some(Broken { id: there.balancer.id.to_string(), traffic: broken::traffic(there, found) })
    }

    fn shortfalls(&self) -> Vec<Shortfall> {
        match &self.observation {
            Observation::Ensure { wanted, found } => shortfalls::shortfalls(wanted, found),
            _ => Vec::new(),
        }
    }
}
