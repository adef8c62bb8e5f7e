//! The routes of a cloud in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use bowline_cloud::{CloudError, ErrorClass, Fence, Route, RouteChange, Routes, async_trait};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::locked;

type OnChange = Box<dyn FnMut(&RouteChange) -> Result<(), CloudError> + Send>;

/// Routes that are made and deleted as asked, and the calls for them.
pub struct FakeRoutes {
    started: Instant,
    /// The routes that are there.
    pub routes: Mutex<Vec<Route>>,
    /// When each list was asked for, in seconds since the start.
    pub lists: Mutex<Vec<u64>>,
    /// What each call of `apply` was asked, and when: `+node`, `-name`.
    pub applied: Mutex<Vec<(u64, Vec<String>)>>,
    /// Answers of the next lists, in place of the truth.
    pub scripted: Mutex<VecDeque<Result<Vec<Route>, CloudError>>>,
    /// The call that never comes back: `list`, or `apply` after it took effect.
    pub hangs_in: Mutex<&'static str>,
    on_change: Mutex<OnChange>,
}

impl FakeRoutes {
    /// A cloud that has these routes.
    #[must_use]
    pub fn new(routes: Vec<Route>) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            routes: Mutex::new(routes),
            lists: Mutex::default(),
            applied: Mutex::default(),
            scripted: Mutex::default(),
            hangs_in: Mutex::default(),
            on_change: Mutex::new(Box::new(|_| Ok(()))),
        })
    }

    /// Calls this for each change that the fence allows, before it takes effect. An error is the answer to it.
    pub fn on_change(&self, call: impl FnMut(&RouteChange) -> Result<(), CloudError> + Send + 'static) {
        *locked(&self.on_change) = Box::new(call);
    }

    /// Fails a change (`+node`, `-name`) so many times, with an error of this class.
    #[must_use]
    pub fn failing(self: Arc<Self>, change: &str, times: u32, class: ErrorClass) -> Arc<Self> {
        let (change, mut left) = (change.to_owned(), times);
        self.on_change(move |asked| {
            if left == 0 || text(asked) != change {
                return Ok(());
            }
            left -= 1;
            Err(CloudError::new(class, "the router is busy"))
        });
        self
    }

    /// All changes asked for, in order.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        locked(&self.applied).iter().flat_map(|(_, changes)| changes.clone()).collect()
    }

    /// Seconds since the start.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    async fn hang_in(&self, call: &str) {
        let hangs = *locked(&self.hangs_in) == call;
        if hangs {
            std::future::pending::<()>().await;
        }
    }

    fn change(&self, change: &RouteChange, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        (locked(&self.on_change))(change)?;
        let mut routes = locked(&self.routes);
        match change {
            RouteChange::Create { hint, route } => {
                let mut made = Route::new(hint.clone(), route.target_node.clone(), route.destination);
                made.blackhole = route.blackhole;
                routes.push(made);
            }
            RouteChange::Delete(route) => {
                let at = routes.iter().position(|listed| listed == route);
                let gone = || CloudError::new(ErrorClass::NotFound, "no such route");
                routes.remove(at.ok_or_else(gone)?);
            }
        }
        Ok(())
    }
}

fn text(change: &RouteChange) -> String {
    match change {
        RouteChange::Create { route, .. } => format!("+{}", route.target_node.as_deref().unwrap_or_default()),
        RouteChange::Delete(route) => format!("-{}", route.name),
    }
}

#[async_trait]
impl Routes for FakeRoutes {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        assert_eq!(cluster, "kubernetes");
        locked(&self.lists).push(self.seconds());
        self.hang_in("list").await;
        let scripted = locked(&self.scripted).pop_front();
        scripted.unwrap_or_else(|| Ok(locked(&self.routes).clone()))
    }

    async fn apply(
        &self,
        _: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        locked(&self.applied).push((self.seconds(), changes.iter().map(text).collect()));
        let answers = changes.iter().map(|change| self.change(change, fence)).collect();
        self.hang_in("apply").await;
        answers
    }
}
