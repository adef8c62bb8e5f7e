//! A cloud's own controllers look and change in one call: what they are asked while we are not known, and that an identity
//! is found again where nothing but they would notice.

use std::collections::BTreeMap;

use bowline_cloud::{Answer, ExtraController, Watched, Watches};

use super::*;
use crate::extra::Extra;

const MINUTE: Duration = Duration::from_secs(60);

#[async_trait]
impl ExtraController for Project {
    fn name(&self) -> &str {
        "tag-controller"
    }
    fn watches(&self) -> Watches {
        Watches::Nodes
    }
    async fn reconcile(&self, _object: &Watched, _fence: &dyn Fence) -> Result<Answer, CloudError> {
        *self.called.lock() += 1;
        self.admit()?;
        let labels = BTreeMap::from([("tag".to_owned(), Some("t".to_owned()))]);
        Ok(Answer { labels, ..Answer::default() })
    }
}

fn own_controller(world: &World) -> Extra {
    Extra::new(world.cloud.extra_controllers().remove(0))
}

impl World {
    fn called(&self) -> usize {
        *self.project.called.lock()
    }
}

const TAGGED: [&str; 4] = ["PATCH fine", "PATCH fine-too", "PATCH gone", "PATCH off"];

#[tokio::test(start_paused = true)]
async fn where_only_they_talk_to_the_cloud_one_look_now_and_then_finds_the_identity_again() {
    let world = World::new(Arc::new(Project::default()));
    world.project.lock_out(true);
    let meanwhile = async {
        sleep(60 * MINUTE).await;
        assert!(matches!(&*world.identity.watch().borrow(), Some(Loss::Refused(_))));
        assert_eq!(world.written(), Vec::<String>::new());
        assert!(world.called() < 1000, "one at a time, not one for each Node: {}", world.called());
        world.project.lock_out(false);
        sleep(MINUTE / 2).await;
        assert_eq!(*world.identity.watch().borrow(), None, "by itself");
    };
    world.run_controller(&own_controller(&world), MINUTE, meanwhile).await;
    assert_eq!(world.written(), TAGGED);
}

#[tokio::test(start_paused = true)]
async fn where_the_cloud_can_say_who_we_are_they_wait_for_its_word() {
    let world = World::new(Project::called("a"));
    world.identity.ask(world.cloud.as_ref()).await;
    world.project.is("b");
    world.identity.ask(world.cloud.as_ref()).await;
    let meanwhile = async {
        sleep(60 * MINUTE - Duration::from_secs(1)).await;
        assert_eq!(world.called(), 0);
        world.project.is("a");
        sleep(Duration::from_secs(10)).await;
    };
    world.run_controller(&own_controller(&world), MINUTE, meanwhile).await;
    assert_eq!(world.written(), TAGGED, "at once, and not after a back-off of minutes");
}
