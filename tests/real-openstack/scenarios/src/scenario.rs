//! What a scenario is, which run, and what each is given.

use std::sync::{Mutex, PoisonError};

use futures::future::LocalBoxFuture;

use crate::world::World;

/// How a scenario is performed.
pub(crate) type Run = for<'a> fn(&'a Stage<'a>) -> LocalBoxFuture<'a, anyhow::Result<()>>;

/// Something that has to hold on the real thing.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What it shows, in half a sentence.
    pub(crate) story: &'static str,
    pub(crate) when: When,
    pub(crate) on: On,
    pub(crate) run: Run,
}

/// When it runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Always, in CI as well.
    Always,
    /// Always with one provider; with the other as [`When::Asked`].
    AlwaysWith(Provider),
    /// With `--all`, or by name.
    Asked,
}

/// With which providers of load balancers it runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// It has to do with no load balancer, or chooses by itself.
    Any,
    Ovn,
    Amphora,
    /// Once with each.
    Both,
}

/// A provider of load balancers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    Ovn,
    Amphora,
}

impl Provider {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ovn => "ovn",
            Self::Amphora => "amphora",
        }
    }

    /// What `[LoadBalancer]` says to get it.
    pub(crate) const fn conf(self) -> &'static str {
        match self {
            Self::Ovn => "lb-provider = ovn\nlb-method = SOURCE_IP_PORT\n",
            Self::Amphora => "lb-provider = amphora\n",
        }
    }
}

/// A scenario with the provider it runs with.
pub(crate) struct Trial {
    pub(crate) scenario: Scenario,
    provider: Option<Provider>,
}

impl Trial {
    pub(crate) fn name(&self) -> String {
        match self.provider {
            Some(provider) => format!("{} ({})", self.scenario.name, provider.name()),
            None => self.scenario.name.to_owned(),
        }
    }

    fn is_always(&self) -> bool {
        match self.scenario.when {
            When::Always => true,
            When::AlwaysWith(provider) => self.provider == Some(provider),
            When::Asked => false,
        }
    }

    pub(crate) fn stage<'a>(&'a self, world: &'a World) -> Stage<'a> {
        Stage {
            world,
            scenario: self.scenario.name,
            provider: self.provider.unwrap_or(Provider::Ovn),
            notes: Mutex::default(),
        }
    }
}

/// Which scenarios are to run.
pub(crate) struct Choice {
    pub(crate) names: Vec<String>,
    pub(crate) all: bool,
}

impl Choice {
    pub(crate) fn of(&self, scenarios: Vec<Scenario>) -> Vec<Trial> {
        scenarios.into_iter().flat_map(trials).filter(|trial| self.takes(trial)).collect()
    }

    fn takes(&self, trial: &Trial) -> bool {
        if self.names.is_empty() {
            return self.all || trial.is_always();
        }
        self.names.iter().any(|name| trial.name().contains(name.as_str()))
    }
}

fn trials(scenario: Scenario) -> Vec<Trial> {
    let providers: &[Option<Provider>] = match scenario.on {
        On::Any => &[None],
        On::Ovn => &[Some(Provider::Ovn)],
        On::Amphora => &[Some(Provider::Amphora)],
        On::Both => &[Some(Provider::Ovn), Some(Provider::Amphora)],
    };
    providers.iter().map(|provider| Trial { scenario, provider: *provider }).collect()
}

/// What a scenario is given.
pub(crate) struct Stage<'a> {
    pub(crate) world: &'a World,
    pub(crate) scenario: &'static str,
    pub(crate) provider: Provider,
    notes: Mutex<Vec<String>>,
}

impl Stage<'_> {
    /// Notes a figure for the report.
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &'static str, when: When, on: On) -> Scenario {
        Scenario { name, story: "", when, on, run: |_| Box::pin(async { Ok(()) }) }
    }

    fn chosen(names: &[&str], all: bool) -> Vec<String> {
        let scenarios = vec![
            scenario("nodes", When::Always, On::Any),
            scenario("life", When::Always, On::Both),
            scenario("kills", When::Asked, On::Ovn),
        ];
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Choice { names, all }.of(scenarios).iter().map(Trial::name).collect()
    }

    #[test]
    fn long_scenarios_run_when_they_are_asked_for() {
        assert_eq!(chosen(&[], false), ["nodes", "life (ovn)", "life (amphora)"]);
        assert_eq!(chosen(&[], true).len(), 4);
        assert_eq!(chosen(&["kill"], false), ["kills (ovn)"]);
    }

    #[test]
    fn a_name_may_choose_the_provider() {
        assert_eq!(chosen(&["(amphora)"], false), ["life (amphora)"]);
    }
}
