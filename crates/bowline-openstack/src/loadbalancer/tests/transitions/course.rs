//! Drives a Service from one setting to the next, and compares what is there with what a fresh simulation has for the last.

use std::fmt::Write as _;
use std::sync::Arc;

use bowline_cloud::{Purpose, ServiceView};
use serde_json::Value;

use super::super::stage::{End, service};
use super::estate::Estate;
use super::picture::{differences, picture};
use crate::loadbalancer::annotations::{self, ANNOTATIONS, Effect};

/// What a Service and its cloud.conf say. Texts may name things of the estate as `{name}`.
#[derive(Clone, Default)]
pub(in super::super) struct Setting {
    pub(in super::super) name: String,
    conf: String,
    annotations: Vec<(&'static str, String)>,
    change: Vec<fn(&mut ServiceView)>,
}

impl Setting {
    /// Nothing said.
    pub(in super::super) fn none() -> Self {
        Self { name: "not there".to_owned(), ..Self::default() }
    }

    pub(in super::super) fn annotation(key: &'static str, value: &str) -> Self {
        Self::named(value).with(key, value)
    }

    pub(in super::super) fn field(name: &str, change: fn(&mut ServiceView)) -> Self {
        Self { change: vec![change], ..Self::named(name) }
    }

    pub(in super::super) fn conf(name: &str, text: &str) -> Self {
        Self { conf: format!("{text}\n"), ..Self::named(name) }
    }

    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    #[must_use]
    pub(in super::super) fn with(mut self, key: &'static str, value: &str) -> Self {
        self.annotations.push((key, value.to_owned()));
        self
    }

    /// Both, where the other counts if they contradict each other.
    #[must_use]
    pub(in super::super) fn and(&self, other: &Self) -> Self {
        let name = [&self.name, &other.name].map(String::as_str).join(" + ");
        let conf = format!("{}{}", self.conf, other.conf);
        let annotations = self.annotations.iter().chain(&other.annotations).cloned().collect();
        let change = self.change.iter().chain(&other.change).copied().collect();
        Self { name, conf, annotations, change }
    }

    /// The Service that says so; what was noted on it, and its status, stay.
    fn on(&self, estate: &Estate, before: Option<&ServiceView>) -> Arc<ServiceView> {
        let mut view = (*service("web", 2)).clone();
        let written = |key: &str| annotations::find(key).is_some_and(|row| row.effect == Effect::Written);
        if let Some(before) = before {
            let noted = |key: &str| written(key) || key == annotations::LOAD_BALANCER_ID.key;
            let kept = before.annotations.iter().filter(|(key, _value)| noted(key));
            view.annotations = kept.collect::<std::collections::BTreeMap<&str, &str>>().into();
            view.status = before.status.clone();
        }
        for (key, value) in &self.annotations {
            view.annotations.insert((*key).to_owned(), estate.filled(value));
        }
        self.change.iter().for_each(|change| change(&mut view));
        Arc::new(view)
    }
}

/// A Service in its project.
pub(in super::super) struct Living {
    pub(in super::super) estate: Estate,
    pub(in super::super) service: Arc<ServiceView>,
}

impl Living {
    /// One that is made with a setting.
    pub(in super::super) async fn born(setting: &Setting) -> Self {
        let mut living = Self::unborn(setting).await;
        living.settle(setting).await;
        living
    }

    /// One for which nothing is done yet.
    pub(in super::super) async fn unborn(setting: &Setting) -> Self {
        let mut estate = Estate::new().await;
        let conf = estate.conf(&setting.conf);
        estate.configure(conf);
        let service = setting.on(&estate, None);
        Self { estate, service }
    }

    /// Another setting counts from now on.
    pub(in super::super) async fn change(&mut self, setting: &Setting) {
        self.wish(setting);
        self.settle(setting).await;
    }

    /// The same, and nothing is done about it yet.
    pub(in super::super) fn wish(&mut self, setting: &Setting) {
        let conf = self.estate.conf(&setting.conf);
        self.estate.configure(conf);
        self.service = setting.on(&self.estate, Some(&self.service));
    }

    async fn settle(&mut self, setting: &Setting) {
        match self.drive(Purpose::Ensure).await {
            End::Settled(_) => {}
            other => panic!("with {:?}: {other:?}", setting.name),
        }
    }

    pub(in super::super) async fn drive(&mut self, purpose: Purpose) -> End {
        self.estate.stage.drive(&mut self.service, purpose).await
    }

    pub(in super::super) fn picture(&self) -> Value {
        picture(&self.estate.stage, &self.service)
    }

    /// What is done although all should be done: at once, and by a process that has to read it all.
    pub(in super::super) async fn restless(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        for remembers in [true, false] {
            if !remembers {
                self.estate.stage.restart();
                self.estate.stage.forget_fingerprints();
            }
            self.estate.stage.clear();
            let end = self.drive(Purpose::Ensure).await;
            if self.estate.stage.mutating() > 0 || !matches!(end, End::Settled(_)) {
                done.push(format!(
                    "looked at again (memory: {remembers}): {:?} {end:?}",
                    self.estate.stage.counts()
                ));
            }
        }
        done
    }

    /// Deletes the load balancer behind our back, as a user can.
    pub(in super::super) async fn lose_balancer(&mut self) {
        let octavia = self.estate.stage.simulation.client.load_balancer();
        let id = self.service.annotations.get(annotations::LOAD_BALANCER_ID.key).unwrap().parse().unwrap();
        octavia.delete_load_balancer(&id, true).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    }

    /// Deletes the floating IP behind our back.
    pub(in super::super) fn lose_floating_ip(&mut self) {
        self.estate.stage.simulation.edit(|state| {
            let leading: Vec<String> = {
                let all = state.network.floating_ips.iter();
                all.filter(|one| one.port_id.is_some()).map(|one| one.id.clone()).collect()
            };
            leading.iter().for_each(|id| drop(state.network.floating_ips.remove(id)));
        });
    }
}

/// When a setting shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Shows {
    /// At once, in everything.
    AtOnce,
    /// When the load balancer is made: until then nothing changes.
    WhenMade,
    /// When a floating IP is made: until then nothing changes.
    WithFloatingIp,
    /// When the Service goes.
    WhenGone,
}

/// Settings between which a Service is changed.
pub(in super::super) struct Course {
    pub(in super::super) name: String,
    pub(in super::super) shows: Shows,
    pub(in super::super) settings: Vec<Setting>,
    /// Whether every setting follows every other.
    pub(in super::super) each_to_each: bool,
}

impl Course {
    /// The problems that were found.
    pub(in super::super) async fn run(&self) -> Vec<String> {
        match self.shows {
            Shows::AtOnce => self.at_once().await,
            Shows::WhenMade | Shows::WithFloatingIp => self.later().await,
            Shows::WhenGone => self.when_gone().await,
        }
    }

    async fn fresh(&self) -> Vec<Value> {
        let mut fresh = Vec::new();
        for setting in &self.settings {
            fresh.push(Living::born(setting).await.picture());
        }
        fresh
    }

    /// The orders in which settings follow each other.
    fn tours(&self) -> Vec<Vec<usize>> {
        let count = self.settings.len();
        if self.each_to_each {
            // Out and back between every two, from each of them.
            let tour = |start: usize| {
                let others = (0..count).filter(move |other| *other > start);
                std::iter::once(start).chain(others.flat_map(move |other| [other, start])).collect()
            };
            return (0..count.saturating_sub(1)).map(tour).collect();
        }
        let round: Vec<usize> = (0..count).chain([0]).collect();
        let back: Vec<usize> = (0..count).rev().collect();
        vec![round, back]
    }

    async fn at_once(&self) -> Vec<String> {
        let fresh = self.fresh().await;
        let mut problems = Vec::new();
        for tour in self.tours() {
            let mut living = Living::born(&self.settings[tour[0]]).await;
            problems.extend(self.told(&tour[..1], living.restless().await));
            for end in 2..=tour.len() {
                let here = tour[end - 1];
                living.change(&self.settings[here]).await;
                let way = &tour[end - 2..end];
                problems.extend(self.told(way, differences(&living.picture(), &fresh[here])));
                problems.extend(self.told(way, living.restless().await));
            }
        }
        problems
    }

    async fn later(&self) -> Vec<String> {
        let fresh = self.fresh().await;
        let mut problems = Vec::new();
        let round: Vec<usize> = (0..self.settings.len()).chain([0]).collect();
        let mut living = Living::born(&self.settings[0]).await;
        for way in round.windows(2) {
            let [before, now] = [way[0], way[1]];
            living.change(&self.settings[now]).await;
            problems.extend(self.told(way, differences(&living.picture(), &fresh[before])));
            problems.extend(self.told(way, living.restless().await));
            match self.shows {
                Shows::WhenMade => living.lose_balancer().await,
                _ => living.lose_floating_ip(),
            }
            living.change(&self.settings[now]).await;
            let again = differences(&living.picture(), &fresh[now]);
            problems
                .extend(self.told(way, again.into_iter().map(|one| format!("made anew: {one}")).collect()));
        }
        problems
    }

    async fn when_gone(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (before, now) in
            (0..self.settings.len()).flat_map(|one| (0..self.settings.len()).map(move |two| (one, two)))
        {
            let mut fresh = Living::born(&self.settings[now]).await;
            fresh.drive(Purpose::Remove).await.settled();
            let mut living = Living::born(&self.settings[before]).await;
            living.change(&self.settings[now]).await;
            problems.extend(self.told(&[before, now], living.restless().await));
            living.drive(Purpose::Remove).await.settled();
            problems.extend(self.told(&[before, now], differences(&living.picture(), &fresh.picture())));
        }
        problems
    }

    fn told(&self, way: &[usize], problems: Vec<String>) -> Vec<String> {
        let names: Vec<&str> = way.iter().map(|place| self.settings[*place].name.as_str()).collect();
        problems.into_iter().map(|one| format!("{}: {}: {one}", self.name, names.join(" -> "))).collect()
    }
}

/// Runs courses and fails with all that is wrong.
pub(in super::super) async fn run(courses: Vec<Course>) {
    let mut told = String::new();
    for course in courses {
        for problem in course.run().await {
            writeln!(told, "{problem}").unwrap();
        }
    }
    assert!(told.is_empty(), "\n{told}");
}

/// The rows of the table that users write.
pub(in super::super) fn rows() -> impl Iterator<Item = &'static annotations::Annotation> {
    ANNOTATIONS.iter().filter(|row| row.effect != Effect::Written)
}
