//! The museum of bugs: faults that cloud-controller-managers really had, built into ours at its seams, to see whether the
//! simulation finds them. Nothing of this is in what is shipped: a piece alters requests between a process and the world, or
//! the answers of the provider between it and the controllers, or the flags of the process.
//!
//! `piece` lists them, `cards` says of each what it is and where it comes from, `cases` has the run in which it can show;
//! `wire` (to the cloud), `kube_way` (to the API server), `machines`, `balancers` and `paths` (the provider) build them in;
//! `score` looks whether they are found.

mod balancers;
mod cards;
mod cases;
mod cloud;
mod kube_way;
mod machines;
mod paths;
mod piece;
mod score;
pub(crate) mod wire;
mod workshop;

pub use cards::Card;
pub use cases::case;
pub(crate) use cloud::over_cloud;
pub(crate) use kube_way::KubeWay;
pub use piece::Piece;
pub use score::{Finding, each_piece, hunt, is_sound_without, score};
pub use workshop::Workshop;

/// What stands at the end of the cloud.conf of a process with the bug.
#[must_use]
pub fn configuration(piece: Option<Piece>) -> &'static str {
    match piece {
        Some(Piece::SharedAcrossNamespaces) => "[Tenancy]\njoin-namespace=any\n",
        _ => "",
    }
}

/// The flags of a process with the bug that its other flags do not have.
#[must_use]
pub fn flags(piece: Option<Piece>) -> &'static [&'static str] {
    match piece {
        Some(Piece::NoElection) => &["--leader-elect=false"],
        Some(Piece::OneLookIsEnough) => &["--load-balancer-replacement-delay=1s"],
        Some(Piece::NoFleetBreaker) => &["--load-balancer-breaker-percent=100"],
        Some(Piece::NoBrake) => &["--node-deletion-limit-percent=100", "--node-deletion-breaker-percent=100"],
        _ => &[],
    }
}
