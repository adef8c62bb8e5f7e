//! Tests of the client's layers, in virtual time on an in-memory server.

use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt, future::join_all};
use http_body_util::{Full, StreamBody};
use k8s_openapi::api::core::v1::{Node, Service as KubeService};
use kube::{
    Api, Config,
    api::{Patch, PatchParams, WatchParams},
};
use prometheus_client::{encoding::text::encode, registry::Registry};
use serde_json::json;
use tokio::{
    io::AsyncReadExt,
    time::{Instant, timeout},
};

use super::{load::load_with, proxy::ProxyVariables, *};
use crate::scripted_api::{Answer, service};

fn factory(qps: f64, burst: u32) -> ClientFactory {
    let config = Config::new("https://api.example:6443".parse().unwrap());
    ClientFactory::new(config, "cloud-controller-manager", "v1.2.3", qps, burst)
}

fn node() -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
}

#[tokio::test(start_paused = true)]
async fn a_get_on_a_silent_server_fails_at_its_deadline() {
    let (silent, _) = service(|_| Answer::Silence);
    let nodes: Api<Node> = Api::all(factory(0.0, 0).with_deadline(Duration::from_secs(7)).wrap("t", silent));
    let start = Instant::now();
    let error = nodes.get("n").await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 7);
    assert!(is_deadline(&error), "{error}");
    assert!(error.to_string().contains("GET /api/v1/nodes/n"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_midway_fails_at_the_deadline_too() {
    let stuck = tower::service_fn(|_| async {
        let chunks = futures::stream::iter(["{\"kind\":".to_owned()]).chain(futures::stream::pending());
        Ok::<_, BoxError>(Response::new(body_of(chunks)))
    });
    let nodes: Api<Node> = Api::all(factory(0.0, 0).wrap("t", stuck));
    let start = Instant::now();
    assert!(is_deadline(&nodes.get("n").await.unwrap_err()));
    assert_eq!(start.elapsed(), DEFAULT_DEADLINE);
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_not_cut_by_the_deadline() {
    let slow = tower::service_fn(|_| async {
        let line = format!("{}\n", json!({"type": "ADDED", "object": node()}));
        let events = futures::stream::unfold(0, move |n| {
            let line = line.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(100)).await;
                (n < 3).then_some((line, n + 1))
            }
        });
        Ok::<_, BoxError>(Response::new(body_of(events)))
    });
    let nodes: Api<Node> = Api::all(factory(0.0, 0).wrap("t", slow));
    let start = Instant::now();
    let events: Vec<_> =
        nodes.watch(&WatchParams::default(), "0").await.unwrap().boxed().try_collect().await.unwrap();
    assert_eq!(events.len(), 3);
    assert_eq!(start.elapsed().as_secs(), 400);
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_burst_wait_and_other_clients_do_not() {
    let answering = || service(|_| Answer::ok(node())).0;
    let factory = factory(10.0, 5);
    let busy: Api<Node> = Api::all(factory.wrap("busy", answering()));
    let idle: Api<Node> = Api::all(factory.wrap("idle", answering()));
    let start = Instant::now();
    join_all((0..25).map(|_| busy.get("n"))).await.into_iter().for_each(|got| drop(got.unwrap()));
    assert_eq!(start.elapsed().as_millis(), 2_000, "20 requests beyond the burst of 5, 10 a second");
    let start = Instant::now();
    idle.get("n").await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "each client has its own budget");
}

#[tokio::test(start_paused = true)]
async fn a_request_of_one_namespace_does_not_wait_for_a_hundred_of_another() {
    let (server, _log) = service(|_| Answer::ok(json!({"metadata": {"name": "s"}})));
    let client = factory(10.0, 1).wrap("t", server);
    let services = |namespace: &str| Api::<KubeService>::namespaced(client.clone(), namespace);
    let (noisy, quiet) = (services("noisy"), services("quiet"));
    let start = Instant::now();
    let burst = join_all((0..100).map(|_| noisy.get("s")));
    let one = async {
        tokio::task::yield_now().await;
        quiet.get("s").await.map(|_service| start.elapsed())
    };
    let (noisy, quiet) = tokio::join!(burst, one);
    assert!(quiet.unwrap() <= Duration::from_millis(210), "two of the noisy namespace may come before it");
    noisy.into_iter().for_each(|got| drop(got.unwrap()));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_budget_does_not_eat_the_deadline() {
    let (quick, journal) = service(|_| Answer::ok(node()));
    let client = factory(0.1, 1).with_deadline(Duration::from_secs(1)).wrap("t", quick);
    let nodes: Api<Node> = Api::all(client);
    join_all((0..3).map(|_| nodes.get("n"))).await.into_iter().for_each(|got| drop(got.unwrap()));
    assert_eq!(journal.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn requests_are_counted_under_the_names_of_client_go() {
    let mut registry = Registry::default();
    let metrics = RestMetrics::register(&mut registry);
    let (service, _) = service(|asked| match asked.path.rsplit('/').next() {
        Some("there") => Answer::ok(node()),
        Some("absent") => Answer::status(404, "NotFound", "no"),
        Some("broken") => Answer::Refused,
        _ => Answer::Silence,
    });
    let nodes: Api<Node> = Api::all(factory(1.0, 1).with_metrics(metrics).wrap("t", service));
    nodes.get("there").await.unwrap();
    nodes.get("absent").await.unwrap_err();
    nodes.get("broken").await.unwrap_err();
    timeout(Duration::from_secs(5), nodes.get("silent")).await.unwrap_err();
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    for line in [
        r#"rest_client_requests_total{code="200",method="GET",host="api.example:6443"} 1"#,
        r#"rest_client_requests_total{code="404",method="GET",host="api.example:6443"} 1"#,
        r#"rest_client_requests_total{code="<error>",method="GET",host="api.example:6443"} 2"#,
        r#"rest_client_request_duration_seconds_count{verb="GET",host="api.example:6443"} 4"#,
        r#"rest_client_rate_limiter_duration_seconds_count{verb="GET",host="api.example:6443"} 4"#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_sizes_of_plain_requests_and_answers_are_measured() {
    let mut registry = Registry::default();
    let metrics = RestMetrics::register(&mut registry);
    let (server, _) = service(|asked| match asked.is_watch() {
        true => Answer::Lines { lines: tokio::sync::mpsc::unbounded_channel().1, until: None },
        false => Answer::ok(node()),
    });
    let nodes: Api<Node> = Api::all(factory(0.0, 0).with_metrics(metrics).wrap("t", server));
    nodes.get("n").await.unwrap();
    let sent = json!({"metadata": {"labels": {"a": "b".repeat(300)}}});
    nodes.patch("n", &PatchParams::default(), &Patch::Merge(&sent)).await.unwrap();
    drop(nodes.watch(&WatchParams::default(), "0").await.unwrap().boxed().try_collect::<Vec<_>>().await);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    let labels = |verb| format!(r#"{{verb="{verb}",host="api.example:6443"}}"#);
    let (request, response) = (sent.to_string().len(), node().to_string().len());
    for line in [
        format!("rest_client_request_size_bytes_sum{} 0.0", labels("GET")),
        format!("rest_client_request_size_bytes_count{} 2", labels("GET")),
        format!("rest_client_request_size_bytes_sum{} {request}.0", labels("PATCH")),
        format!("rest_client_response_size_bytes_sum{} {response}.0", labels("GET")),
        format!("rest_client_response_size_bytes_count{} 1\n", labels("GET")),
        format!("rest_client_response_size_bytes_sum{} {response}.0", labels("PATCH")),
    ] {
        assert!(text.contains(&line), "{line} is missing in\n{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_while_it_waits_costs_nothing_of_the_budget() {
    let (server, log) = service(|_| Answer::ok(node()));
    let nodes: Api<Node> = Api::all(factory(1.0, 1).wrap("t", server));
    let start = Instant::now();
    nodes.get("n").await.unwrap();
    let impatient = join_all((0..50).map(|_| timeout(Duration::from_millis(500), nodes.get("n")))).await;
    assert!(impatient.iter().all(Result::is_err), "none of them is sent within half a second");
    nodes.get("n").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 1, "not behind fifty who left");
    nodes.get("n").await.unwrap();
    assert_eq!((start.elapsed().as_secs(), log.count()), (2, 3), "what was sent is paid for");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_after_it_was_sent_stays_paid_for() {
    let (server, log) = service(|_| Answer::Silence);
    let nodes: Api<Node> = Api::all(factory(1.0, 1).wrap("t", server));
    for _ in 0..3 {
        timeout(Duration::from_millis(10), nodes.get("n")).await.unwrap_err();
    }
    assert_eq!(log.count(), 1, "the second and third still wait for the budget that the first used");
}

#[tokio::test(start_paused = true)]
async fn the_user_agent_names_the_client_and_the_server_is_asked_once() {
    let (overloaded, journal) = service(|_| Answer::status(503, "ServiceUnavailable", "later"));
    let nodes: Api<Node> = Api::all(factory(0.0, 0).wrap("leader-election", overloaded));
    nodes.get("n").await.unwrap_err();
    let seen = journal.all();
    assert_eq!(seen.len(), 1, "no hidden retries");
    let agent = seen[0].headers.get("user-agent").unwrap().to_str().unwrap();
    assert!(agent.starts_with("cloud-controller-manager/v1.2.3 (linux/"), "{agent}");
    assert!(agent.ends_with(") kubernetes/unknown/leader-election"), "{agent}");
}

#[tokio::test]
async fn a_real_client_is_built_without_hidden_retries() {
    let factory = factory(20.0, 30);
    assert!(!factory.config().default_retry);
    factory.client("service-controller").unwrap();
}

#[tokio::test]
async fn the_master_flag_overrides_the_address_in_the_kubeconfig() {
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n\
                clusters: [{name: k, cluster: {server: 'https://old:6443'}}]\nusers: [{name: u, user: {token: t}}]\n";
    let path = std::env::temp_dir().join(format!("bowline-kubeconfig-{}", uuid::Uuid::new_v4()));
    std::fs::write(&path, text).unwrap();
    let plain = load_config(Some(&path), None).await.unwrap();
    let moved = load_config(Some(&path), Some("https://new:6443")).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(plain.cluster_url.host(), Some("old"));
    assert_eq!(moved.cluster_url.host(), Some("new"));
    assert!(moved.auth_info.token.is_some(), "the credentials stay");
}

fn variables(https: &str, no_proxy: &str) -> ProxyVariables {
    ProxyVariables { https: https.into(), no_proxy: no_proxy.into(), ..ProxyVariables::default() }
}

#[tokio::test]
async fn a_proxy_that_is_set_for_the_cloud_does_not_stand_in_the_way_of_the_api_server() {
    let text = "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n\
                clusters: [{name: k, cluster: {server: 'https://10.0.0.1:6443'}}]\n";
    let path = std::env::temp_dir().join(format!("bowline-kubeconfig-{}", uuid::Uuid::new_v4()));
    std::fs::write(&path, text).unwrap();
    let load = |master, no_proxy| load_with(Some(&path), master, &variables("http://proxy:3128", no_proxy));
    let direct = load(None, "10.0.0.0/8,").unwrap();
    let proxied = load(None, "10.1.0.0/16").unwrap();
    let moved = load(Some("https://192.0.2.1:6443"), "10.0.0.0/8").unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(direct.proxy_url, None);
    assert_eq!(proxied.proxy_url.as_ref().unwrap(), "http://proxy:3128/");
    assert!(moved.proxy_url.is_some(), "what counts is the address that is used in the end");
    for config in [direct, proxied, moved] {
        ClientFactory::new(config, "t", "0", 0.0, 0).client("t").unwrap();
    }
    let socks = load_with(None, Some("https://api.example"), &variables("socks5://proxy", "")).unwrap();
    ClientFactory::new(socks, "t", "0", 0.0, 0).client("t").unwrap();
}

#[tokio::test]
async fn a_client_reaches_the_api_server_through_its_proxy() {
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = proxy.local_addr().unwrap().to_string();
    let config = load_with(None, Some("https://api.example:6443"), &variables(&address, "")).unwrap();
    let nodes: Api<Node> = Api::all(ClientFactory::new(config, "t", "0", 0.0, 0).client("t").unwrap());
    let asked = async {
        let (mut connection, _) = proxy.accept().await.unwrap();
        let mut line = vec![0; 29];
        connection.read_exact(&mut line).await.unwrap();
        String::from_utf8(line).unwrap()
    };
    tokio::select! {
        asked = asked => assert_eq!(asked, "CONNECT api.example:6443 HTTP"),
        answer = nodes.get("n") => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn a_configuration_error_says_what_was_tried() {
    let missing = load_config(Some("/does/not/exist".as_ref()), None).await.unwrap_err().to_string();
    assert!(missing.contains("--kubeconfig=/does/not/exist"), "{missing}");
    let master = load_config(None, Some("ftp://x")).await.unwrap_err().to_string();
    assert!(master.contains("--master=ftp://x"), "{master}");
    assert_eq!(load_config(None, Some("10.0.0.1:8080")).await.unwrap().cluster_url, "http://10.0.0.1:8080/");
    // Not a pod, unless these tests happen to run in one.
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
        let nowhere = load_config(None, Some("")).await.unwrap_err().to_string();
        assert!(nowhere.contains("in-cluster") && nowhere.contains("--kubeconfig"), "{nowhere}");
    }
}

/// A body that arrives in these chunks.
fn body_of(chunks: impl Stream<Item = String> + Send) -> impl BodyExt<Data = Bytes, Error = BoxError> + Send {
    StreamBody::new(chunks.then(|chunk| async {
        let frame = Full::new(Bytes::from(chunk)).frame().await;
        frame.ok_or_else(|| BoxError::from("empty"))?.map_err(BoxError::from)
    }))
}

/// A server that answers with a Node after this many blanks, in pieces or with its length told, and takes 5 s for it.
fn large(
    bytes: usize,
    told: bool,
) -> impl Service<
    Request<Body>,
    Response = Response<
        http_body_util::Either<Full<Bytes>, http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>>,
    >,
    Error = BoxError,
    Future: Send,
> + Clone
+ Send
+ 'static {
    tower::service_fn(move |_request: Request<Body>| async move {
        let (blanks, end) = (" ".repeat(64 << 10), node().to_string());
        if told {
            let whole = blanks.repeat(bytes / blanks.len()) + &end;
            return Ok(Response::new(http_body_util::Either::Left(Full::from(whole))));
        }
        let pieces = std::iter::repeat_n(blanks.clone(), bytes / blanks.len()).chain([end]);
        let pieces = futures::stream::iter(pieces).enumerate().then(|(number, piece)| async move {
            if number == 0 {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            piece
        });
        Ok(Response::new(http_body_util::Either::Right(body_of(pieces).boxed_unsync())))
    })
}

#[tokio::test(start_paused = true)]
async fn an_answer_about_one_object_that_is_larger_than_its_limit_is_refused() {
    let memory = AnswerBudget::new(64 << 20);
    for told in [true, false] {
        let factory = factory(0.0, 0).with_answer_budget(memory.clone());
        let nodes = |bytes| Api::<Node>::all(factory.wrap("t", large(bytes, told)));
        let error = nodes(17 << 20).get("n").await.unwrap_err();
        let kube::Error::Service(inner) = &error else { panic!("{error}") };
        let refused = inner.downcast_ref::<AnswerTooLarge>().unwrap();
        assert_eq!((refused.limit_bytes, &*refused.path), (16 << 20, "/api/v1/nodes/n"));
        nodes(15 << 20).get("n").await.unwrap();
        assert_eq!(memory.free_bytes(), memory.total_bytes(), "everything was given back");
    }
}

#[tokio::test(start_paused = true)]
async fn large_answers_at_once_wait_for_each_other_and_fail_at_their_deadline() {
    let memory = AnswerBudget::new(32 << 20);
    let factory = factory(0.0, 0).with_answer_budget(memory.clone());
    let nodes: Api<Node> = Api::all(factory.wrap("t", large(1 << 20, false)));
    let start = Instant::now();
    let got = join_all((0..6).map(|_| nodes.get("n"))).await;
    got.into_iter().for_each(|got| drop(got.unwrap()));
    assert_eq!(start.elapsed().as_secs(), 15, "each may be 16 MiB, so two at a time");
    let hasty: Api<Node> =
        Api::all(factory.with_deadline(Duration::from_secs(7)).wrap("t", large(1 << 20, false)));
    let got = join_all((0..6).map(|_| hasty.get("n"))).await;
    let (well, late): (Vec<_>, Vec<_>) = got.into_iter().partition(Result::is_ok);
    assert_eq!((well.len(), late.len()), (2, 4));
    assert!(late.into_iter().all(|got| is_deadline(&got.unwrap_err())));
    assert_eq!(memory.free_bytes(), memory.total_bytes());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_is_no_status_keeps_its_code_and_loses_its_text() {
    let (server, _) = service(|_| Answer::Json(502, json!({"password": "s3cret"})));
    let nodes: Api<Node> = Api::all(factory(0.0, 0).wrap("t", server));
    let error = nodes.get("n").await.unwrap_err();
    let kube::Error::Api(status) = &error else { panic!("{error}") };
    assert_eq!(status.code, 502);
    assert!(status.message.contains("no Status: 21 bytes"), "{error}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}
