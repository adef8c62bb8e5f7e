//! Routes, as a provider with a bug makes them.

use std::sync::Arc;

use async_trait::async_trait;
use bowline_cloud::{CloudError, Fence, Route, RouteChange, Routes};

use super::{Piece, Workshop};

/// The provider's, with a bug over it.
pub(super) struct Paths {
    pub(super) inner: Arc<dyn Routes>,
    pub(super) workshop: Workshop,
}

#[async_trait]
impl Routes for Paths {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        let mut routes = self.inner.list(cluster).await?;
        for claimed in &self.workshop.memory().routes {
            if routes.iter().all(|route| route.destination != claimed.destination) {
                routes.push(claimed.clone());
            }
        }
        Ok(routes)
    }

    /// What failed is taken for done, and nobody comes back to it.
    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        let results = self.inner.apply(cluster, changes, fence).await;
        if !self.workshop.is(Piece::RouteFailureForgotten) {
            return results;
        }
        for (change, result) in changes.iter().zip(&results) {
            if let (RouteChange::Create { route, .. }, Err(_)) = (change, result) {
                self.workshop.memory().routes.push(route.clone());
            }
        }
        results.into_iter().map(|_result| Ok(())).collect()
    }
}
