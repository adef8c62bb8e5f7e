//! The token that all calls share: requested once, renewed in the background before it expires, and replaced when a service rejects it.
//!
//! At most one token request is in flight. It runs as its own task, so it completes even if the waiting callers are cancelled, and all
//! callers get its result. After a failure no new request is made for some time, because Keystone may lock a user after repeated wrong
//! passwords.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture, future::Shared};
use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::OnceCell, task::JoinError, time::Instant};

use super::{Credentials, Scope, Token};
use crate::{
    Budget, Error, ErrorClass, Outcome, Priority, ProjectId, Service, base_url::BaseUrl, call::Wire, identity,
};

/// Pauses after a failed token request: the first pause after a temporary failure, and after Keystone refused the credentials. Each further
/// failure in a row doubles the pause.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_REFUSED: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE_REFUSED: Duration = Duration::from_secs(300);
/// A token that replaced a rejected one is not replaced again within this time.
const SHORTEST_LIFE: Duration = Duration::from_secs(30);
/// Upper bound for a `Retry-After` of Keystone.
const LONGEST_PAUSE_ASKED: Duration = Duration::from_secs(600);

type Flight = Shared<BoxFuture<'static, Result<Arc<Token>, Error>>>;

/// The session of one identity.
#[derive(Clone, Debug)]
pub(crate) struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wire: Arc<Wire>,
    budget: Arc<dyn Budget>,
    credentials: Credentials,
    keystone: OnceCell<BaseUrl>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    token: Option<Arc<Token>>,
    /// The project of the first token; the inner value is `None` if that token has no project. `None` until the first token was issued.
    project: Option<Option<ProjectId>>,
    /// When a token was last requested because a service rejected the previous one.
    replaced: Option<Instant>,
    flight: Option<Flight>,
    generation: u64,
    failure: Option<Failure>,
}

/// The last token request failed; the next one is made after `until` at the earliest.
#[derive(Debug)]
struct Failure {
    error: Error,
    until: Instant,
    in_a_row: u32,
}

enum Look {
    Use(Arc<Token>),
    Wait(Flight),
    Fail(Error),
}

impl Session {
    pub(crate) fn new(wire: Arc<Wire>, budget: Arc<dyn Budget>, credentials: Credentials) -> Self {
        let (keystone, state) = (OnceCell::new(), Mutex::default());
        Self(Arc::new(Inner { wire, budget, credentials, keystone, state }))
    }

    /// The current token. Starts a renewal in the background if it is due. If it has expired, requests a new one, or returns the last error while
    /// the pause after a failure lasts.
    pub(crate) async fn token(&self) -> Result<Arc<Token>, Error> {
        let look = self.look(&mut self.lock());
        settle(look).await
    }

    /// Like [`Self::token`], but if the last token request failed, returns that error until a new request may be made and then waits for
    /// that request.
    pub(crate) async fn undisputed_token(&self) -> Result<Arc<Token>, Error> {
        let look = self.look_undisputed(&mut self.lock());
        settle(look).await
    }

    fn look_undisputed(&self, state: &mut State) -> Look {
        match (&state.flight, &state.failure) {
            (_, None) => self.look(state),
            (Some(flight), Some(_)) => Look::Wait(flight.clone()),
            (None, Some(failure)) if Instant::now() < failure.until => Look::Fail(failure.error.clone()),
            (None, Some(_)) => Look::Wait(self.take_off(state)),
        }
    }

    /// Returns a token that replaces `refused`, which a service rejected. `None` if `refused` replaced a rejected token less than
    /// `SHORTEST_LIFE` ago: one service that rejects every token must not take a valid token from the other services.
    ///
    /// Until the new token is issued, other callers continue to use the old one.
    pub(crate) async fn renew(&self, refused: &Token) -> Result<Option<Arc<Token>>, Error> {
        let look = self.look_past(refused, &mut self.lock());
        match look {
            Some(look) => settle(look).await.map(Some),
            None => Ok(None),
        }
    }

    fn look_past(&self, refused: &Token, state: &mut State) -> Option<Look> {
        let now = Instant::now();
        if state.token.as_ref().is_some_and(|token| token.generation != refused.generation) {
            return Some(self.look(state));
        }
        match (&state.flight, &state.failure) {
            (Some(flight), _) => Some(Look::Wait(flight.clone())),
            (None, Some(failure)) if now < failure.until => Some(Look::Fail(failure.error.clone())),
            (None, None) if state.replaced.is_some_and(|then| now < then + SHORTEST_LIFE) => None,
            (None, _) => {
                state.replaced = Some(now);
                Some(Look::Wait(self.take_off(state)))
            }
        }
    }

    /// The base URL of Keystone's v3 API.
    pub(crate) async fn keystone(&self) -> Result<BaseUrl, Error> {
        self.0.keystone().await.cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    fn look(&self, state: &mut State) -> Look {
        let now = Instant::now();
        let paused = state.failure.as_ref().is_some_and(|failure| now < failure.until);
        if let Some(token) = state.token.clone().filter(|token| token.is_alive(now)) {
            if token.is_due(now) && state.flight.is_none() && !paused {
                // The spawned task makes the request; this caller does not wait for it.
                drop(self.take_off(state));
            }
            return Look::Use(token);
        }
        match (&state.flight, &state.failure) {
            (Some(flight), _) => Look::Wait(flight.clone()),
            (None, Some(failure)) if paused => Look::Fail(failure.error.clone()),
            (None, _) => Look::Wait(self.take_off(state)),
        }
    }

    /// Spawns a token request.
    fn take_off(&self, state: &mut State) -> Flight {
        state.generation += 1;
        let generation = state.generation;
        let session = self.clone();
        let task = tokio::spawn(async move {
            // Created inside the task: if the runtime drops the task while it is spawned, a guard created outside would call `land` while
            // `state` is locked.
            let landing = Landing { session, generation };
            let result = landing.session.0.issue(generation).await;
            landing.session.land(generation, result)
        });
        let inner = Arc::downgrade(&self.0);
        let ended = move |_: JoinError| match inner.upgrade() {
            Some(inner) => Self(inner).land(generation, Err(interrupted())),
            None => Err(interrupted()),
        };
        let flight = task.map(|joined| joined.unwrap_or_else(ended)).boxed().shared();
        state.flight = Some(flight.clone());
        flight
    }

    /// Stores the result of a token request, unless a newer request has replaced it or its result is already stored.
    fn land(&self, generation: u64, issued: Result<Token, Error>) -> Result<Arc<Token>, Error> {
        let mut state = self.lock();
        let result = issued.and_then(|token| same_project(&mut state.project, token)).map(Arc::new);
        if state.generation != generation || state.flight.take().is_none() {
            return result;
        }
        match &result {
            Ok(token) => {
                state.token = Some(Arc::clone(token));
                state.failure = None;
            }
            Err(error) => {
                tracing::warn!(%error, class = %error.class(), "no token from Keystone");
                let in_a_row = state.failure.as_ref().map_or(0, |failure| failure.in_a_row) + 1;
                let asked = error.retry_after().unwrap_or_default().min(LONGEST_PAUSE_ASKED);
                let until = Instant::now() + pause(error.class(), in_a_row).max(asked);
                state.failure = Some(Failure { error: error.clone(), until, in_a_row });
            }
        }
        result
    }
}

/// Drop guard of a token request: if the task is dropped before it completes, the request counts as failed and a new one can start.
struct Landing {
    session: Session,
    generation: u64,
}

impl Drop for Landing {
    fn drop(&mut self) {
        // Does nothing if the result is already stored.
        drop(self.session.land(self.generation, Err(interrupted())));
    }
}

/// Accepts a token only if its project is that of the first token: cached ids and endpoints belong to that project.
fn same_project(first: &mut Option<Option<ProjectId>>, token: Token) -> Result<Token, Error> {
    let found = &token.identity.project_id;
    let wanted = first.get_or_insert_with(|| found.clone());
    if wanted == found {
        return Ok(token);
    }
    let name = |project: &Option<ProjectId>| {
        project.as_ref().map_or_else(|| "no project".to_owned(), |project| format!("project {project}"))
    };
    let message = format!(
        "Keystone gave a token for {}, but the first one was for {}; it is not used. Restart to change the project",
        name(found),
        name(wanted)
    );
    Err(Error::new(ErrorClass::Unauthenticated, Outcome::Refused, message))
}

impl Inner {
    async fn keystone(&self) -> Result<&BaseUrl, Error> {
        let url = &self.credentials.auth_url;
        let found = self.keystone.get_or_try_init(|| async {
            let known = url.major().is_some() || matches!(self.credentials.scope, Scope::Trust(_));
            if !known {
                self.budget.acquire(Service::Identity, Priority::User).await;
                identity::confirm_v3(&self.wire, url).await?;
            }
            Ok(url.without_version().with_segment(Service::Identity.version_segment()))
        });
        found.await
    }

    async fn issue(&self, generation: u64) -> Result<Token, Error> {
        let keystone = self.keystone().await?;
        self.budget.acquire(Service::Identity, Priority::User).await;
        let issued = identity::issue_token(&self.wire, keystone, &self.credentials, generation).await;
        if let Err(error) = &issued
            && error.class() == ErrorClass::Throttled
        {
            self.budget.throttled(Service::Identity, error.retry_after().unwrap_or(PAUSE));
        }
        issued
    }
}

async fn settle(look: Look) -> Result<Arc<Token>, Error> {
    match look {
        Look::Use(token) => Ok(token),
        Look::Wait(flight) => flight.await,
        Look::Fail(error) => Err(error),
    }
}

fn pause(class: ErrorClass, in_a_row: u32) -> Duration {
    let (first, longest) = match class {
        ErrorClass::Unauthenticated | ErrorClass::Forbidden | ErrorClass::Invalid => {
            (PAUSE_REFUSED, LONGEST_PAUSE_REFUSED)
        }
        _ => (PAUSE, LONGEST_PAUSE),
    };
    first.saturating_mul(1 << in_a_row.saturating_sub(1).min(10)).min(longest)
}

fn interrupted() -> Error {
    Error::new(ErrorClass::Transient, Outcome::Unknown, "the request for a token was interrupted")
}
