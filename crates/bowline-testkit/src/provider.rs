//! A cloud for tests, which does what the test says. Its parts answer from a script (by object or by a closure) and record what
//! they were asked. A test whose cloud needs state of its own gives it as a part.

mod instances;
mod routes;

use std::sync::Arc;

use bowline_cloud::{
    AnyLoadBalancers, Capability, Cloud, CloudContext, CloudError, ExtraController, Instances, Routes,
    async_trait,
};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use parking_lot::{Mutex, MutexGuard};

pub use self::instances::{FakeInstances, Lookup};
pub use self::routes::FakeRoutes;

type Call<T> = Box<dyn Fn() -> BoxFuture<'static, Result<T, CloudError>> + Send + Sync>;
type Initialize = Box<dyn Fn(&CloudContext) -> BoxFuture<'static, Result<(), CloudError>> + Send + Sync>;

/// A cloud that supports nothing but what the test gives it. Its name is `fake`, and so is the scheme of its provider IDs.
pub struct FakeCloud {
    initialize: Initialize,
    identity: Call<Option<String>>,
    instances: Mutex<Capability<Arc<dyn Instances>>>,
    load_balancers: Mutex<Capability<Arc<dyn AnyLoadBalancers>>>,
    routes: Mutex<Capability<Arc<dyn Routes>>>,
    extra: Vec<Arc<dyn ExtraController>>,
}

impl Default for FakeCloud {
    fn default() -> Self {
        Self {
            initialize: Box::new(|_context| ready(Ok(())).boxed()),
            identity: Box::new(|| ready(Ok(None)).boxed()),
            instances: Mutex::new(Capability::Unsupported),
            load_balancers: Mutex::new(Capability::Unsupported),
            routes: Mutex::new(Capability::Unsupported),
            extra: Vec::new(),
        }
    }
}

impl FakeCloud {
    /// With these instances.
    #[must_use]
    pub fn with_instances(self, instances: Arc<dyn Instances>) -> Self {
        self.set_instances(Capability::Supported(instances));
        self
    }

    /// With these load balancers.
    #[must_use]
    pub fn with_load_balancers(self, load_balancers: Arc<dyn AnyLoadBalancers>) -> Self {
        self.set_load_balancers(Capability::Supported(load_balancers));
        self
    }

    /// With these routes.
    #[must_use]
    pub fn with_routes(self, routes: Arc<dyn Routes>) -> Self {
        self.set_routes(Capability::Supported(routes));
        self
    }

    /// With this controller of the cloud's own.
    #[must_use]
    pub fn with_extra_controller(mut self, controller: Arc<dyn ExtraController>) -> Self {
        self.extra.push(controller);
        self
    }

    /// Initialized by this closure.
    #[must_use]
    pub fn initialized_by<F>(self, call: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), CloudError>> + Send + 'static,
    {
        self.initialized_with(move |_context| call())
    }

    /// Initialized by this closure, which gets what the manager lends the cloud.
    #[must_use]
    pub fn initialized_with<F>(mut self, call: impl Fn(&CloudContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), CloudError>> + Send + 'static,
    {
        self.initialize = Box::new(move |context| call(context).boxed());
        self
    }

    /// With the identity that this closure returns.
    #[must_use]
    pub fn identified_by<F>(mut self, call: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Option<String>, CloudError>> + Send + 'static,
    {
        self.identity = Box::new(move || call().boxed());
        self
    }

    /// Replaces the instances.
    pub fn set_instances(&self, instances: Capability<Arc<dyn Instances>>) {
        *locked(&self.instances) = instances;
    }

    /// Replaces the load balancers.
    pub fn set_load_balancers(&self, load_balancers: Capability<Arc<dyn AnyLoadBalancers>>) {
        *locked(&self.load_balancers) = load_balancers;
    }

    /// Replaces the routes.
    pub fn set_routes(&self, routes: Capability<Arc<dyn Routes>>) {
        *locked(&self.routes) = routes;
    }
}

#[async_trait]
impl Cloud for FakeCloud {
    fn name(&self) -> &str {
        "fake"
    }

    async fn initialize(&self, context: &CloudContext) -> Result<(), CloudError> {
        (self.initialize)(context).await
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        (self.identity)().await
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        locked(&self.instances).clone()
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        locked(&self.load_balancers).clone()
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        locked(&self.routes).clone()
    }

    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        self.extra.clone()
    }
}

/// The guarded value, also after a panic that a test scripted.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
