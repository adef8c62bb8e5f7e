//! The description and construction of an informer: what it watches, what it caches, how objects are looked up.

use std::sync::Arc;

use kube::{Api, Client, Resource};

use super::index::Indexes;
use super::intake::{Intake, Project};
use super::metrics::Meter;
use super::store::Store;
use super::{Informer, InformerMetrics, InformerTask, Shared, WatchSettings};

/// The description of an informer: what it watches, what it caches, how objects are looked up.
pub struct InformerSpec<K, P> {
    name: String,
    project: Project<K, P>,
    indexes: Indexes<P>,
    settings: WatchSettings,
    meter: Meter,
}

impl<K, P: PartialEq> InformerSpec<K, P> {
    /// An informer that caches the result of `project` for each object. Objects for which `project` returns `None` are not cached.
    ///
    /// Subscribers see a deletion when the projection of an object becomes `None`, and nothing when it stays equal.
    pub fn new(name: impl Into<String>, project: impl Fn(K) -> Option<P> + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            project: Box::new(project),
            indexes: Indexes::default(),
            settings: WatchSettings::default(),
            meter: Meter::default(),
        }
    }

    /// Declares an index: `values` returns the values under which an object is found, for example as an `Option` or a `Vec`.
    #[must_use]
    pub fn index<V>(mut self, name: &'static str, values: impl Fn(&P) -> V + Send + Sync + 'static) -> Self
    where
        V: IntoIterator<Item = String>,
    {
        self.indexes.declare(name, Box::new(move |view| values(view).into_iter().collect()));
        self
    }

    /// Sets how the informer lists and watches.
    #[must_use]
    pub fn settings(mut self, settings: WatchSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Exports the informer in `metrics` under its name.
    #[must_use]
    pub fn metrics(self, metrics: &InformerMetrics) -> Self
    where
        K: Resource<DynamicType = ()>,
    {
        self.metrics_of::<K>(metrics)
    }

    /// Same as [`Self::metrics`], for types that do not name their kind themselves.
    #[must_use]
    pub fn metrics_of<Kind: Resource<DynamicType = ()>>(mut self, metrics: &InformerMetrics) -> Self {
        self.meter = metrics.meter::<Kind>(&self.name);
        self
    }

    /// Returns the handle to read from and the task to run. `api_of` selects what to watch: `Api::all`, or a closure that returns
    /// `Api::namespaced`.
    pub fn build(
        self,
        client: Client,
        api_of: impl Fn(Client) -> Api<K> + Send + Sync + 'static,
    ) -> (Informer<P>, InformerTask<K, P>) {
        let store = Store::new(self.indexes);
        let shared = Arc::new(Shared::new(self.name, store, self.meter, self.settings.silence_limit()));
        let intake = Arc::new(Intake::new(shared.name.clone(), self.project));
        let settings = self.settings;
        let task =
            InformerTask { shared: Arc::clone(&shared), client, api_of: Box::new(api_of), intake, settings };
        (Informer { shared }, task)
    }
}
