//! How much memory answers may take: a limit for each kind of call, and one budget for all that are read at once.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, future::join_all, stream};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use openstack_client::{
    AnswerBudget, Body, Client, ErrorClass, Outcome, PortId, SecurityGroupId, ServerId, Timeouts, Transport,
};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tower::{BoxError, service_fn};

use crate::cloud::{Cloud, Reply, token};

const MIB: usize = 1 << 20;
const PIECE: usize = 64 << 10;

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// A cloud whose Keystone is scripted, and whose other answers have `bytes` blanks before their JSON, in pieces.
#[derive(Clone)]
struct Large {
    bytes: usize,
    /// Whether the length is told beforehand.
    told: bool,
    /// How long each answer takes to come.
    takes: Duration,
    /// What was read of all answers.
    read: Arc<AtomicUsize>,
}

impl Large {
    fn new(bytes: usize, told: bool) -> Self {
        Self { bytes, told, takes: Duration::ZERO, read: Arc::default() }
    }

    fn client(&self, memory: &AnswerBudget) -> Client {
        self.client_within(memory, Timeouts::default())
    }

    fn client_within(&self, memory: &AnswerBudget, timeouts: Timeouts) -> Client {
        let large = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let large = large.clone();
            async move { Ok::<_, Infallible>(large.answer(&request)) }
        });
        let transport = Transport::new(service, timeouts).with_answer_budget(memory.clone());
        Client::new(transport, Cloud::settings())
    }

    fn answer(&self, request: &Request<Body>) -> Answer {
        if request.uri().host() == Some("keystone.test") {
            let Reply::Answer { headers, body, .. } = token("token-1", Duration::from_secs(3600)) else {
                unreachable!("a token is an answer")
            };
            let mut answer = Response::builder().status(201);
            for (name, value) in headers {
                answer = answer.header(name, value);
            }
            let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
            return answer.body(body).unwrap();
        }
        let end = match request.uri().path() {
            path if path.ends_with("/servers/detail") => json!({"servers": []}),
            _ => json!({"port": {"id": "p", "network_id": "n"}}),
        };
        let (read, takes) = (Arc::clone(&self.read), self.takes);
        let pieces = (0..self.bytes / PIECE).map(|_| Bytes::from(vec![b' '; PIECE]));
        let pieces = stream::iter(pieces.chain([Bytes::from(end.to_string())]));
        let pieces = pieces.enumerate().then(move |(number, piece)| {
            let read = Arc::clone(&read);
            async move {
                if number == 0 {
                    sleep(takes).await;
                }
                read.fetch_add(piece.len(), Ordering::SeqCst);
                Ok::<_, BoxError>(Frame::data(piece))
            }
        });
        let length = (self.bytes / PIECE * PIECE + end.to_string().len()) as u64;
        let body = StreamBody::new(pieces.boxed());
        let body = if self.told { Told { body, left: length }.boxed_unsync() } else { body.boxed_unsync() };
        Response::new(body)
    }
}

/// A body whose length is told beforehand, as by `Content-Length`.
struct Told<B> {
    body: B,
    left: u64,
}

impl<B: hyper::body::Body<Data = Bytes> + Unpin> hyper::body::Body for Told<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.left)
    }
}

async fn port(client: &Client) -> Result<(), openstack_client::Error> {
    client.network().port(&PortId::new("p").unwrap()).await.map(drop)
}

async fn servers(client: &Client) -> Result<(), openstack_client::Error> {
    client.compute().servers(&openstack_client::compute::ServerQuery::default()).all().await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_larger_than_its_kind_allows_is_refused_before_it_is_in_memory() {
    let memory = AnswerBudget::new(128 * MIB);
    for (told, most_read) in [(true, 0), (false, 8 * MIB + PIECE)] {
        let large = Large::new(20 * MIB, told);
        let error = port(&large.client(&memory)).await.unwrap_err();
        assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::Unknown));
        assert!(error.to_string().contains("limit for one object"), "{error}");
        let read = large.read.load(Ordering::SeqCst);
        assert!(read <= most_read, "{read} bytes were read of an answer whose length was told: {told}");
        // The same is fine as a page of a list.
        servers(&large.client(&memory)).await.unwrap();
    }
    for told in [true, false] {
        let error = servers(&Large::new(65 * MIB, told).client(&memory)).await.unwrap_err();
        assert!(error.to_string().contains("limit for a page of a list"), "{error}");
    }
    assert_eq!(memory.free_bytes(), memory.total_bytes(), "everything was given back");
}

#[tokio::test(start_paused = true)]
async fn large_answers_at_once_wait_for_each_other_and_stay_within_the_total() {
    for told in [true, false] {
        // One service may have half of it.
        let memory = AnswerBudget::new(48 * MIB);
        let large = Large { takes: Duration::from_secs(5), ..Large::new(7 * MIB, told) };
        let client = large.client(&memory);
        client.identity().await.unwrap();
        let (least, began) = (AtomicU64::new(u64::MAX), Instant::now());
        let watch = async {
            loop {
                let taken = memory.total_bytes() - memory.free_bytes();
                let read = large.read.load(Ordering::SeqCst);
                assert!(taken <= memory.total_bytes() / 2 && read <= 9 * 8 * MIB);
                least.fetch_min(memory.free_bytes() as u64, Ordering::SeqCst);
                sleep(Duration::from_millis(100)).await;
            }
        };
        let all = join_all((0..9).map(|_| port(&client)));
        let ended = tokio::select! { ended = all => ended, () = watch => unreachable!("it goes on") };
        ended.into_iter().for_each(Result::unwrap);
        assert_eq!(began.elapsed().as_secs(), 15, "nine answers of 5 s, three at a time");
        assert!(least.into_inner() < (24 + 3) * MIB as u64, "the share was used");
        assert_eq!(memory.free_bytes(), memory.total_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_which_there_is_no_memory_until_the_deadline_is_an_error_and_takes_none_for_ever() {
    let memory = AnswerBudget::new(8 * MIB);
    let endless = Large { takes: Duration::from_secs(3600), ..Large::new(7 * MIB, true) };
    let small = Large::new(2 * MIB, true).client(&memory);
    small.identity().await.unwrap();
    let began = Instant::now();
    let slow = endless.client(&memory);
    let (given_up, late) = tokio::join!(port(&slow), async {
        sleep(Duration::from_secs(30)).await;
        let waited = Instant::now();
        (port(&small).await, waited.elapsed())
    });
    assert!(given_up.unwrap_err().to_string().contains("60s"), "it was given up at its deadline");
    late.0.unwrap();
    assert_eq!(late.1.as_secs(), 30, "it waited until the other one was given up");
    assert_eq!(began.elapsed().as_secs(), 60);

    let hasty = endless.client_within(&memory, Timeouts::within(Duration::from_secs(10)));
    hasty.identity().await.unwrap();
    let (given_up, refused) = tokio::join!(port(&slow), async {
        sleep(Duration::from_secs(1)).await;
        port(&hasty).await.unwrap_err()
    });
    given_up.unwrap_err();
    assert_eq!((refused.class(), refused.outcome()), (ErrorClass::Transient, Outcome::Unknown));
    assert!(
        refused.to_string().contains("took all memory for answers until the deadline of the call, 10s"),
        "{refused}"
    );
    assert_eq!(memory.free_bytes(), memory.total_bytes());
}

#[tokio::test(start_paused = true)]
async fn answers_of_one_service_that_do_not_end_do_not_keep_another_waiting() {
    let memory = AnswerBudget::new(128 * MIB);
    let endless = Large { takes: Duration::from_secs(3600), ..Large::new(MIB, false) }.client(&memory);
    let well = Large::new(MIB, false).client(&memory);
    endless.identity().await.unwrap();
    well.identity().await.unwrap();
    let stuck = join_all((0..4).map(|_| servers(&endless)));
    let others = async {
        sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        port(&well).await.unwrap();
        Large::new(MIB, false).client(&memory).identity().await.unwrap();
        began.elapsed()
    };
    let (stuck, waited) = tokio::join!(stuck, others);
    assert!(stuck.into_iter().all(|ended| ended.is_err()));
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    assert_eq!(memory.free_bytes(), memory.total_bytes());
}

#[tokio::test(start_paused = true)]
async fn nobody_holds_memory_while_another_call_is_made() {
    // Each 401 is as large as it may be, and the budget holds one answer: who kept one while asking for a token would wait for ever.
    let memory = AnswerBudget::new(MIB);
    let large = " ".repeat(MIB - 200);
    let refused = move |_: &crate::cloud::Asked| {
        Reply::text(401, &format!("{large}{}", json!({"error": {"code": 401, "title": "Unauthorized"}})))
    };
    let cloud = Cloud::new(refused);
    let transport = cloud.transport().with_answer_budget(memory.clone());
    let client = Client::new(transport, Cloud::settings());
    let (network, compute) = (client.network(), client.compute());
    let (port, group) = (PortId::new("p").unwrap(), SecurityGroupId::new("g").unwrap());
    let server = ServerId::new("11111111-2222-3333-4444-555555555555").unwrap();
    let (one, two, three) =
        tokio::join!(network.port(&port), network.security_group(&group), compute.server(&server));
    for error in [one.unwrap_err(), two.unwrap_err(), three.unwrap_err()] {
        assert_eq!(error.class(), ErrorClass::Unauthenticated, "{error}");
    }
    assert_eq!(memory.free_bytes(), memory.total_bytes());
}
