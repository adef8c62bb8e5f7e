//! The framework's fence at the client's writes. The framework lends its fence for the time of a call; the client wants one
//! to keep. Here is the bridge, for everything in this provider that changes the cloud. It decides nothing.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use bowline_cloud::Fence;
use openstack_client::{Client, Closed, WriteFence};
use parking_lot::Mutex;

/// Does `work` with a client whose changes ask `fence`.
///
/// The borrowed fence is asked whenever the work goes on after a wait, and its answer holds for as long as the work does
/// not wait again: a change that waited for the budget, a token or another answer is judged after that wait. The client
/// that `work` is given may change nothing once the work is done, or in a task of its own.
pub async fn lend<F: Future>(
    client: &Client,
    fence: &dyn Fence,
    work: impl FnOnce(Client) -> F,
) -> F::Output {
    let gate = Arc::new(Gate::default());
    let mut work = pin!(work(client.fenced_by(Arc::clone(&gate) as Arc<dyn WriteFence>)));
    poll_fn(|context| {
        gate.set(Some(fence.check().map_err(|fenced| Closed(fenced.why))));
        let polled = work.as_mut().poll(context);
        gate.set(None);
        polled
    })
    .await
}

/// What the lent fence said last; none while it is not lent.
#[derive(Debug, Default)]
struct Gate(Mutex<Option<Result<(), Closed>>>);

impl Gate {
    fn set(&self, said: Option<Result<(), Closed>>) {
        *self.0.lock() = said;
    }
}

impl WriteFence for Gate {
    fn check(&self) -> Result<(), Closed> {
        let said = self.0.lock().clone();
        said.unwrap_or_else(|| Err(Closed("nobody vouches for this change any more".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bowline_cloud::Unfenced;
    use bowline_testkit::fence::TestFence;
    use openstack_client::network::Route;
    use openstack_client::{Error, ErrorClass, RouterId};
    use sim_openstack::{Config, Fault, Rule, Service};

    use super::*;
    use crate::instances::simulation::Simulation;

    async fn write(simulation: &Simulation, client: &Client) -> Result<(), Error> {
        let router = RouterId::new(simulation.estate.router.as_str()).unwrap();
        let route = Route { destination: "10.244.0.0/24".into(), nexthop: "10.10.0.77".into() };
        client.network().add_routes(&router, &[route]).await.map(drop)
    }

    fn writes(simulation: &Simulation) -> u64 {
        simulation.sim.with(|cloud| cloud.log().mutating())
    }

    #[tokio::test(start_paused = true)]
    async fn a_fence_that_closes_while_a_change_waits_stops_it_and_says_why() {
        let simulation = Simulation::new(Config::default(), 0);
        // The login that comes before the change takes a while.
        let slow = Rule::new(Fault::Slow(Duration::from_secs(5))).on(Service::Identity);
        simulation.fault(slow);
        let door = TestFence::default();
        let change = lend(&simulation.client, &door, async |client| write(&simulation, &client).await);
        let close = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            door.close();
        };
        let (changed, ()) = futures::join!(change, close);
        let error = changed.unwrap_err();
        assert_eq!((error.class(), writes(&simulation)), (ErrorClass::Fenced, 0));
        assert!(error.to_string().contains("not writing: the lease ran out"), "{error}");

        door.open();
        lend(&simulation.client, &door, async |client| write(&simulation, &client).await).await.unwrap();
        assert_eq!(writes(&simulation), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_outlives_the_work_changes_nothing_but_reads() {
        let simulation = Simulation::new(Config::default(), 0);
        let kept = lend(&simulation.client, &Unfenced, async |client| client).await;
        assert_eq!(write(&simulation, &kept).await.unwrap_err().class(), ErrorClass::Fenced);
        assert_eq!(writes(&simulation), 0);
        kept.network().extensions().await.unwrap();
    }
}
