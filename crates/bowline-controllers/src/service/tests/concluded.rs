//! What the provider hears of the end of work.

use bowline_cloud::CloudError;

use super::*;

#[tokio::test(start_paused = true)]
async fn the_provider_hears_how_all_work_ended_and_how_long_it_took() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().builds_slowly = true;
    cluster.put("web", |_| {});
    let ended = |cloud: &FakeCloud| std::mem::take(&mut cloud.state().ended);
    let meanwhile = async {
        seconds(61).await;
        assert_eq!(ended(&cloud), [""; 0], "a wait is no end");
        cloud.state().balancers.values_mut().for_each(|balancer| balancer.building = false);
        seconds(10).await;
        assert_eq!(ended(&cloud), ["Ensure done 64 s"]);
        cluster.put_node("b");
        seconds(10).await;
        assert_eq!(ended(&cloud), ["Update done 0 s"]);
        cloud.state().failures.push(CloudError::transient("502"));
        cluster.delete("web");
        seconds(10).await;
        assert_eq!(ended(&cloud), ["Delete failed 0 s", "Delete done 0 s"]);
        // Who is refused right after something went is looked at once more.
        seconds(10).await;
        cloud.state().refusal = Some("no subnet");
        cluster.put("odd", |_| {});
        seconds(10).await;
        assert_eq!(ended(&cloud), ["Ensure failed 0 s"]);
    };
    run(&cluster, &cloud, meanwhile).await;
}
