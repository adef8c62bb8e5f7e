//! A source and a cloud that do as they are told, in virtual time.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::*;
use crate::config::problem::{Problem, Problems};
use crate::config::{Connection, Source, auth_options, decode};

/// What is read next, and the bell that says that it changed.
struct Script {
    next: Mutex<Result<Configuration, LoadError>>,
    bell: Notify,
}

#[async_trait]
impl ConfigSource for Script {
    async fn read(&self) -> Result<Configuration, LoadError> {
        self.next.lock().clone()
    }

    async fn changed(&self) {
        self.bell.notified().await;
    }
}

impl Script {
    fn put(&self, next: Result<Configuration, LoadError>) {
        *self.next.lock() = next;
        self.bell.notify_one();
    }
}

/// Projects by user; a user who is not there is refused, and one whose project is empty gets no answer.
#[derive(Default)]
struct Projects(Mutex<BTreeMap<String, String>>);

impl Projects {
    fn set(&self, user: &str, project: &str) {
        self.0.lock().insert(user.to_owned(), project.to_owned());
    }

    fn remove(&self, user: &str) {
        self.0.lock().remove(user);
    }
}

#[async_trait]
impl ProjectOf for Projects {
    async fn project_of(&self, configuration: &Configuration) -> Result<ProjectId, NoProject> {
        let user = &configuration.conf.global.username;
        let project = self.0.lock().get(user).cloned();
        match project.as_deref() {
            None => Err(NoProject::Denied("401".to_owned())),
            Some("") => Err(NoProject::Unsaid("503".to_owned())),
            Some(project) => Ok(id(project)),
        }
    }
}

fn id(text: impl Into<String>) -> ProjectId {
    ProjectId::new(text).unwrap()
}

fn configuration(user: &str) -> Configuration {
    configuration_at(user, "https://k/v3", "")
}

fn configuration_at(user: &str, url: &str, region: &str) -> Configuration {
    let text =
        format!("[Global]\nauth-url={url}\nusername={user}\npassword=p\ntenant-id=t\nuser-domain-id=d\n");
    let conf = decode(&[Source::new("cloud.conf", text)]).unwrap().conf;
    let credentials = auth_options(&conf.global).resolve().unwrap();
    let connection = Connection {
        region: region.to_owned(),
        interface: openstack_client::Interface::Public,
        roots: openstack_client::Roots::System,
        identity: None,
        insecure: false,
        insecure_endpoints: false,
        timeout: Duration::from_secs(60),
        proxies: openstack_client::ProxyVariables::default(),
    };
    Configuration { conf, credentials, connection, warnings: Vec::new() }
}

struct Bench {
    script: Arc<Script>,
    projects: Arc<Projects>,
    reloader: Arc<Reloader>,
    running: tokio::task::JoinHandle<()>,
}

impl Bench {
    async fn with(user: &str, projects: &[(&str, &str)]) -> Self {
        let script = Arc::new(Script { next: Mutex::new(Ok(configuration(user))), bell: Notify::new() });
        let cloud = Arc::new(Projects::default());
        projects.iter().for_each(|(user, project)| cloud.set(user, project));
        let reloader = Arc::new(Reloader::start(script.clone(), cloud.clone()).await.unwrap());
        let run = reloader.clone();
        let running = tokio::spawn(async move { run.run().await });
        Self { script, projects: cloud, reloader, running }
    }

    async fn until(&self, what: &str, wanted: impl Fn(&ReloadStatus) -> bool) -> ReloadStatus {
        let mut seen = self.reloader.subscribe();
        let found = timeout(LONGEST_RETRY * 4, seen.wait_for(|status| wanted(status))).await;
        found.unwrap_or_else(|_| panic!("{what}: {:?}", self.reloader.status())).unwrap().clone()
    }

    fn user(&self) -> String {
        self.reloader.current().conf.global.username.clone()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn new_credentials_of_the_same_project_are_swapped_in() {
    let bench = Bench::with("old", &[("old", "p1"), ("new", "p1")]).await;
    bench.until("learned", |status| status.project.is_some()).await;
    let held = bench.reloader.current();
    bench.script.put(Ok(configuration("new")));
    let status = bench.until("swapped", |status| status.generation == 2).await;
    assert_eq!((status.project, status.refused), (Some(id("p1")), None));
    assert_eq!(bench.user(), "new");
    assert_eq!(held.conf.global.username, "old", "work that had begun goes on with what it had");
}

#[tokio::test(start_paused = true)]
async fn credentials_of_another_project_are_refused_and_the_old_stay() {
    let bench = Bench::with("old", &[("old", "p1"), ("foreign", "p2")]).await;
    bench.script.put(Ok(configuration("foreign")));
    let status = bench.until("refused", |status| status.refused.is_some()).await;
    assert_eq!(status.refused, Some(Refused::OtherProject { wanted: id("p1"), found: id("p2") }));
    assert_eq!((status.generation, bench.user().as_str()), (1, "old"));
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_read_is_refused_until_it_is_repaired() {
    let bench = Bench::with("old", &[("old", "p1"), ("new", "p1")]).await;
    let what = "wanted a value".to_owned();
    let problem = Problem { file: "cloud.conf".to_owned(), position: None, key: None, what };
    bench.script.put(Err(Problems(vec![problem]).into()));
    let status = bench.until("refused", |status| status.refused.is_some()).await;
    assert_eq!(status.refused.unwrap().to_string(), "cloud.conf: wanted a value");
    assert_eq!(bench.user(), "old");
    bench.script.put(Ok(configuration("new")));
    let status = bench.until("repaired", |status| status.generation == 2).await;
    assert_eq!((status.refused, bench.user().as_str()), (None, "new"));
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_does_not_answer_is_asked_again_without_another_change() {
    let bench = Bench::with("old", &[("old", "p1")]).await;
    bench.script.put(Ok(configuration("late")));
    bench.until("refused", |status| matches!(status.refused, Some(Refused::Unknown(_)))).await;
    let begun = Instant::now();
    bench.projects.set("late", "p1");
    bench.until("accepted", |status| status.generation == 2).await;
    assert!(begun.elapsed() <= LONGEST_RETRY, "{:?}", begun.elapsed());
    assert_eq!(bench.user(), "late");
}

#[tokio::test(start_paused = true)]
async fn credentials_that_never_worked_may_be_replaced_by_any() {
    let bench = Bench::with("wrong", &[("right", "p7")]).await;
    bench.script.put(Ok(configuration("right")));
    let status = bench.until("swapped", |status| status.generation == 2).await;
    assert_eq!(status.project, Some(id("p7")));
}

#[tokio::test(start_paused = true)]
async fn credentials_of_which_the_cloud_says_nothing_are_not_taken_for_bad_ones() {
    let bench = Bench::with("old", &[("old", ""), ("foreign", "p2"), ("new", "p1")]).await;
    bench.script.put(Ok(configuration("foreign")));
    let status = bench.until("refused", |status| status.refused.is_some()).await;
    assert!(matches!(status.refused, Some(Refused::Unknown(_))), "{status:?}");
    assert_eq!((status.generation, bench.user().as_str()), (1, "old"));
    bench.projects.set("old", "p1");
    bench.until("refused", |status| matches!(status.refused, Some(Refused::OtherProject { .. }))).await;
    bench.script.put(Ok(configuration("new")));
    bench.until("swapped", |status| status.generation == 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_was_forgotten_is_believed_without_a_restart() {
    /// Nobody can ask it without its certificate.
    struct Guarded;
    #[async_trait]
    impl ProjectOf for Guarded {
        async fn project_of(&self, configuration: &Configuration) -> Result<ProjectId, NoProject> {
            match configuration.connection.roots {
                openstack_client::Roots::System => Err(NoProject::Unsaid("UnknownIssuer".to_owned())),
                _ => Ok(id("p1")),
            }
        }
    }
    let script = Arc::new(Script { next: Mutex::new(Ok(configuration("u"))), bell: Notify::new() });
    let reloader = Reloader::start(script.clone(), Arc::new(Guarded)).await.unwrap();
    let believing = |configuration: Configuration| {
        let mut believing = configuration;
        believing.connection.roots = openstack_client::Roots::Pem(vec![1]);
        believing
    };
    script.put(Ok(believing(configuration("another"))));
    reloader.reload().await;
    assert!(matches!(reloader.status().refused, Some(Refused::Unknown(_))), "{:?}", reloader.status());
    script.put(Ok(believing(configuration_at("u", "https://k/v3", "Two"))));
    reloader.reload().await;
    assert!(matches!(reloader.status().refused, Some(Refused::OtherPlace { .. })), "{:?}", reloader.status());
    script.put(Ok(believing(configuration("u"))));
    reloader.reload().await;
    let status = reloader.status();
    assert_eq!((status.generation, status.project, status.refused), (2, Some(id("p1")), None));
}

#[tokio::test(start_paused = true)]
async fn another_region_or_another_cloud_is_refused_and_another_path_of_the_same_is_not() {
    let bench = Bench::with("old", &[("old", "p1"), ("new", "p1")]).await;
    for (url, region, wanted) in
        [("https://other/v3", "", "address of Keystone"), ("https://k/v3", "Two", "region")]
    {
        bench.script.put(Ok(configuration_at("new", url, region)));
        let differs = |status: &ReloadStatus| matches!(&status.refused, Some(Refused::OtherPlace { what, .. }) if *what == wanted);
        bench.until(wanted, differs).await;
        assert_eq!(bench.user(), "old");
    }
    bench.script.put(Ok(configuration_at("new", "https://K:443/identity/v3", "")));
    bench.until("swapped", |status| status.generation == 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_source_that_always_says_changed_does_not_keep_us_busy() {
    struct Restless(Mutex<u32>);
    #[async_trait]
    impl ConfigSource for Restless {
        async fn read(&self) -> Result<Configuration, LoadError> {
            *self.0.lock() += 1;
            Ok(configuration("u"))
        }

        async fn changed(&self) {}
    }
    let (source, cloud) = (Arc::new(Restless(Mutex::new(0))), Arc::new(Projects::default()));
    let reloader = Reloader::start(source.clone(), cloud).await.unwrap();
    assert!(timeout(SHORTEST_PAUSE * 10, reloader.run()).await.is_err());
    assert!(*source.0.lock() <= 12, "{:?}", source.0);
}

#[tokio::test(start_paused = true)]
async fn the_project_outlives_the_credentials_it_was_learned_from() {
    let bench = Bench::with("old", &[("old", "p1"), ("foreign", "p2"), ("new", "p1")]).await;
    bench.until("learned", |status| status.project.is_some()).await;
    bench.projects.remove("old");
    bench.script.put(Ok(configuration("foreign")));
    bench.until("refused", |status| matches!(status.refused, Some(Refused::OtherProject { .. }))).await;
    bench.script.put(Ok(configuration("new")));
    bench.until("swapped", |status| status.generation == 2).await;
    bench.script.put(Ok(configuration("foreign")));
    bench.until("refused again", |status| status.refused.is_some()).await;
    assert_eq!(bench.user(), "new");
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_learned_counts_and_only_the_first_time() {
    let bench = Bench::with("old", &[("new", "p2")]).await;
    bench.reloader.remember(id("p1"));
    bench.reloader.remember(id("p2"));
    assert_eq!(bench.reloader.status().project, Some(id("p1")));
    bench.script.put(Ok(configuration("new")));
    bench.until("refused", |status| matches!(status.refused, Some(Refused::OtherProject { .. }))).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_while_nothing_changes() {
    struct Counting(Mutex<u32>);
    #[async_trait]
    impl ProjectOf for Counting {
        async fn project_of(&self, _: &Configuration) -> Result<ProjectId, NoProject> {
            *self.0.lock() += 1;
            Ok(id("p1"))
        }
    }
    let script = Arc::new(Script { next: Mutex::new(Ok(configuration("u"))), bell: Notify::new() });
    let cloud = Arc::new(Counting(Mutex::new(0)));
    let reloader = Reloader::start(script, cloud.clone()).await.unwrap();
    assert_eq!(*cloud.0.lock(), 0, "starting asks nobody");
    assert!(timeout(LONGEST_RETRY * 100, reloader.run()).await.is_err());
    assert_eq!(*cloud.0.lock(), 1);
}

#[tokio::test]
async fn the_project_is_the_one_that_keystones_token_is_for() {
    use std::convert::Infallible;
    let body = serde_json::json!({"token": {
        "user": {"id": "u", "name": "n", "domain": {"id": "d", "name": "D"}},
        "project": {"id": "p1", "name": "P", "domain": {"id": "d", "name": "D"}},
        "roles": [], "catalog": [], "methods": ["password"],
        "expires_at": "2999-01-01T00:00:00.000000Z", "issued_at": "2026-01-01T00:00:00.000000Z",
    }})
    .to_string();
    let service = tower::service_fn(move |request: http::Request<openstack_client::Body>| {
        let answer = http::Response::builder()
            .status(201)
            .header("x-subject-token", "t")
            .header("content-type", "application/json")
            .body(openstack_client::Body::from(body.clone()))
            .unwrap();
        assert_eq!(request.uri().path(), "/v3/auth/tokens");
        async move { Ok::<_, Infallible>(answer) }
    });
    let transport = openstack_client::Transport::new(service, openstack_client::Timeouts::default());
    let client = openstack_client::Client::new(transport, configuration("u").settings());
    let project = project_of(&client).await.unwrap();
    assert_eq!(project, id("p1"));
}

#[tokio::test(start_paused = true)]
async fn what_works_as_before_is_no_new_configuration_and_asks_nobody() {
    let bench = Bench::with("old", &[("old", "p1")]).await;
    bench.until("learned", |status| status.project.is_some()).await;
    let held = bench.reloader.current();
    // Nobody could say whose these are now.
    bench.projects.set("old", "");
    let mut told = configuration("old");
    told.conf.global.secret_name = "elsewhere".to_owned();
    bench.script.put(Ok(told));
    sleep(SHORTEST_PAUSE * 10).await;
    let status = bench.reloader.status();
    assert_eq!((status.generation, status.refused), (1, None));
    assert!(Arc::ptr_eq(&held, &bench.reloader.current()));
}

#[tokio::test(start_paused = true)]
async fn a_mistake_that_is_taken_back_leaves_the_configuration_as_it_was() {
    let bench = Bench::with("old", &[("old", "p1")]).await;
    bench.script.put(Err(LoadError::NoFile));
    bench.until("refused", |status| status.refused.is_some()).await;
    bench.script.put(Ok(configuration("old")));
    let status = bench.until("taken back", |status| status.refused.is_none()).await;
    assert_eq!(status.generation, 1);
}

#[tokio::test(start_paused = true)]
async fn new_settings_are_announced_and_new_credentials_are_not() {
    let bench = Bench::with("old", &[("old", "p1"), ("new", "p1")]).await;
    bench.until("learned", |status| status.project.is_some()).await;
    let mut announced = bench.reloader.new_settings();
    bench.script.put(Ok(configuration("new")));
    bench.until("swapped", |status| status.generation == 2).await;
    assert!(announced.next().now_or_never().is_none(), "only the credentials are new");

    let mut told = configuration("new");
    told.conf.load_balancer.max_shared_lb += 1;
    bench.script.put(Ok(told));
    assert_eq!(timeout(LONGEST_RETRY, announced.next()).await, Ok(Some(())));
    assert_eq!(bench.reloader.status().generation, 3, "what is announced is in use already");
    assert!(announced.next().now_or_never().is_none(), "each is announced once");
}

#[test]
fn any_change_that_is_acted_on_makes_another_configuration() {
    type Change = fn(&mut Configuration);
    let old = configuration("old");
    assert!(old.works_as(&old.clone()));
    let changes: [(&str, Change); 6] = [
        ("user", |new| *new = configuration("new")),
        ("password", |new| {
            let conf = &mut new.conf.global;
            conf.password = Some("another".to_owned().into());
            new.credentials = auth_options(conf).resolve().unwrap();
        }),
        ("certificates", |new| new.connection.roots = openstack_client::Roots::Pem(vec![1])),
        ("time", |new| new.connection.timeout += Duration::from_secs(1)),
        ("balancers", |new| new.conf.load_balancer.enabled = false),
        ("networks", |new| new.conf.networking.public_network_names.push("public".to_owned())),
    ];
    for (what, change) in changes {
        let mut new = old.clone();
        change(&mut new);
        assert!(!old.works_as(&new), "{what}");
    }
}
