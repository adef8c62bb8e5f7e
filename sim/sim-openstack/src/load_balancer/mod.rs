//! Octavia v2.
use crate::cloud::World;
use crate::http::{ApiRequest, Reply};
/// x
#[derive(Clone, Debug, Default)]
pub struct LoadBalancerState {}
/// How an operation on a load balancer ends when a fault decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// In ERROR.
    Error,
    /// Never.
    Stuck,
}
pub(crate) fn serve(_world: &mut World, _request: &ApiRequest) -> Reply {
    Ok(crate::http::ApiResponse::empty(http::StatusCode::NOT_IMPLEMENTED))
}
pub(crate) fn finish(_world: &mut World, _id: &str) {}
pub(crate) fn finish_children(_world: &mut World, _id: &str) {}
