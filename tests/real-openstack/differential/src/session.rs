//! One script on both clouds: each request is sent to the real cloud, then to the simulator, and the answers are compared.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::script::{Kept, filled};
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::Answer;
use crate::compare::{Cut, Difference, compare};
use crate::real::{Catalog, Wire};
use crate::script::{Step, Until};
use crate::simulated::{Simulated, split};
use crate::translation::Translation;

/// How long a state that passes by itself is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Where the answers of the real cloud come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// The cloud itself.
    Live(Box<Wire>),
    /// An earlier run, by exchange.
    Kept(Answers),
}

/// Answers of the real cloud by exchange.
pub(crate) type Answers = BTreeMap<String, Answer>;

/// Both clouds, what they have answered so far, and what differed.
pub(crate) struct Session {
    name: String,
    source: Source,
    /// What the real cloud has answered.
    pub(crate) answers: Answers,
    /// The roots of the services, by type: the same for both.
    roots: BTreeMap<String, String>,
    simulated: Simulated,
    kept_real: Kept,
    kept_own: Kept,
    translation: Translation,
    /// When the session is broken off.
    pub(crate) deadline: Option<Instant>,
    pub(crate) exchanges: usize,
    pub(crate) equal: usize,
    pub(crate) differences: Vec<Difference>,
}

/// What a session starts from.
pub(crate) struct Start<'a> {
    /// Stands before the titles of its exchanges.
    pub(crate) name: &'a str,
    pub(crate) catalog: &'a Catalog,
    pub(crate) region: &'a str,
    /// What is known of the real cloud's estate before any request.
    pub(crate) site: Value,
    /// What is the same for both clouds.
    pub(crate) shared: Value,
}

impl Session {
    pub(crate) fn new(source: Source, start: &Start<'_>) -> anyhow::Result<Self> {
        let services = start.catalog.get(start.region);
        let services = services.with_context(|| format!("the catalog has no region {}", start.region))?;
        let root = |(kind, interfaces): (&String, &BTreeMap<String, String>)| {
            let url = interfaces.get("public").or_else(|| interfaces.values().next())?;
            Some((kind.clone(), split(url).0))
        };
        let (simulated, site) = Simulated::new(start.catalog)?;
        let mut translation = Translation::default();
        translation.learn(&start.site, &site);
        let kept = |site: &Value| {
            Kept::from([("site".to_owned(), site.clone()), ("shared".to_owned(), start.shared.clone())])
        };
        Ok(Self {
            name: start.name.to_owned(),
            source,
            answers: Answers::new(),
            roots: services.iter().filter_map(root).collect(),
            simulated,
            kept_real: kept(&start.site),
            kept_own: kept(&site),
            translation,
            deadline: None,
            exchanges: 0,
            equal: 0,
            differences: Vec::new(),
        })
    }

    /// Plays one step.
    ///
    /// # Errors
    /// When the real cloud cannot be asked, or does not come to what is waited for.
    pub(crate) async fn play(&mut self, step: &Step) -> anyhow::Result<()> {
        ensure!(self.deadline.is_none_or(|end| Instant::now() < end), "no time is left at {:?}", step.title);
        let provider = self.real("shared").and_then(|shared| shared.get("provider")?.as_str());
        if step.only.is_some() && step.only.as_deref() != provider {
            return Ok(());
        }
        let title = filled(&step.title, &self.kept_real)?;
        let name = format!("{}: {title}", self.name);
        let real = self.real_answer(&name, step).await.with_context(|| name.clone())?;
        keep(&mut self.kept_real, step, &real);
        self.exchanges += 1;
        let own = match self.ask_simulated(step) {
            Ok(own) => own,
            Err(error) => {
                let real = format!("{}: {}", real.status, real.body);
                let (place, simulated) = ("request".to_owned(), format!("{error:#}"));
                self.differences.push(Difference { exchange: name, place, real, simulated });
                return Ok(());
            }
        };
        let found = compare(&name, &real, &Cut::new(), &own, &self.translation);
        self.equal += usize::from(found.is_empty());
        self.differences.extend(found);
        if real.is_success() && own.is_success() {
            self.translation.learn(&real.body, &own.body);
        }
        Ok(())
    }

    /// What the real cloud answered to a labelled step, or nothing.
    pub(crate) fn real(&self, label: &str) -> Option<&Value> {
        self.kept_real.get(label)
    }

    async fn real_answer(&mut self, name: &str, step: &Step) -> anyhow::Result<Answer> {
        let answer = match &self.source {
            Source::Live(wire) => self.ask_real(wire, step).await?,
            Source::Kept(answers) => answers.get(name).cloned().context("the earlier run has no answer")?,
        };
        let before = self.answers.insert(name.to_owned(), answer.clone());
        ensure!(before.is_none(), "two exchanges have this title");
        Ok(answer)
    }

    async fn ask_real(&self, wire: &Wire, step: &Step) -> anyhow::Result<Answer> {
        let filled = step.for_cloud(&self.kept_real)?;
        let patience = Instant::now() + PATIENCE;
        let deadline = self.deadline.map_or(patience, |end| end.min(patience));
        loop {
            let answer = wire.ask(self.request(&filled, &self.kept_real)?).await?;
            if has_come(step.until.as_ref(), &answer) {
                return Ok(answer);
            }
            ensure!(Instant::now() < deadline, "it does not come: {} {}", answer.status, answer.body);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn ask_simulated(&mut self, step: &Step) -> anyhow::Result<Answer> {
        let filled = step.for_cloud(&self.kept_own)?;
        let mut waited = Duration::ZERO;
        let answer = loop {
            let request = self.request(&filled, &self.kept_own)?;
            let answer = self.simulated.ask(request)?;
            if has_come(step.until.as_ref(), &answer) {
                break answer;
            }
            ensure!(waited < PATIENCE, "not in {PATIENCE:?}: {} {}", answer.status, answer.body);
            self.simulated.pass(LOOK_EVERY);
            waited += LOOK_EVERY;
        };
        keep(&mut self.kept_own, step, &answer);
        Ok(answer)
    }

    fn request(&self, step: &Step, kept: &Kept) -> anyhow::Result<Request<Bytes>> {
        let root = self.roots.get(&step.service);
        let root = root.with_context(|| format!("the catalog has no {}", step.service))?;
        let method = if step.method == "WAIT" { "GET" } else { &step.method };
        let mut request = Request::builder().method(method).uri(format!("{root}{}", step.path));
        if !step.caller.is_empty() {
            let token = kept.get(&step.caller).and_then(|answer| answer.get("token-itself")?.as_str());
            let token = token.with_context(|| format!("nobody logged in as {:?}", step.caller))?;
            request = request.header("x-auth-token", token);
        }
        // As real clients do: without it some refusals are plain texts.
        request = request.header("accept", "application/json");
        for (name, value) in &step.headers {
            request = request.header(name, value);
        }
        if !step.body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        Ok(request.body(Bytes::from(step.body.clone()))?)
    }
}

fn has_come(until: Option<&Until>, answer: &Answer) -> bool {
    until.is_none_or(|until| until.holds(answer))
}

/// Keeps an answer for later steps, with the token that is only in a header.
fn keep(kept: &mut Kept, step: &Step, answer: &Answer) {
    let Some(label) = &step.label else { return };
    let mut body = answer.body.clone();
    if let (Some(token), Some(body)) = (answer.headers.get("x-subject-token"), body.as_object_mut()) {
        body.insert("token-itself".to_owned(), json!(token));
    }
    kept.insert(label.clone(), body);
}
