//! Tokens: one for all, renewed early, got anew after a 401, never asked for twice at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use openstack_client::{AuthOptions, Client, Error, ErrorClass, FlavorId, Service, Settings};
use secrecy::SecretString;
use serde_json::json;
use tokio::time::{Instant, advance};

use crate::cloud::{Asked, Cloud, PASSWORD, PROJECT, Reply, options, token};

fn flavor(_: &Asked) -> Reply {
    Reply::ok(&json!({"flavor": {"id": "1", "name": "m1.tiny"}}))
}

/// A call that means nothing.
async fn ask(client: &Client) -> Result<(), Error> {
    client.compute().flavor(&FlavorId::new("1").unwrap()).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn one_token_serves_all_calls_and_is_asked_for_without_one() {
    let cloud = Cloud::new(flavor);
    let client = cloud.client();
    for _ in 0..3 {
        ask(&client).await.unwrap();
    }
    assert_eq!(cloud.logins(), 1);
    let asked = cloud.asked();
    assert_eq!(asked[0].line(), "POST keystone.test/v3/auth/tokens");
    assert_eq!(asked[0].header("x-auth-token"), "");
    assert_eq!(asked[0].header("content-type"), "application/json");
    assert_eq!(asked[0].body["auth"]["identity"]["password"]["user"]["password"], PASSWORD);
    assert!(cloud.calls().iter().all(|call| call.header("x-auth-token") == "token-1"));
    assert!(asked.iter().all(|call| call.header("accept") == "application/json"));
    assert!(asked.iter().all(|call| call.header("user-agent").starts_with("openstack-client/")));
    let identity = client.identity().await.unwrap();
    assert_eq!(identity.project_id.unwrap().as_str(), PROJECT);
    assert_eq!((identity.user_name.as_str(), identity.roles), ("k8s", vec!["member".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn fifty_calls_that_begin_together_share_one_request_for_a_token() {
    let keystone = |_: &Asked| token("token-1", Duration::from_secs(3600)).after(Duration::from_secs(2));
    let cloud = Cloud::new(flavor).keystone(keystone);
    let client = cloud.client();
    join_all((0..50).map(|_| ask(&client))).await.into_iter().for_each(Result::unwrap);
    assert_eq!((cloud.logins(), cloud.calls().len()), (1, 50));
}

#[tokio::test(start_paused = true)]
async fn fifty_calls_whose_token_is_refused_share_one_new_token_and_are_repeated_once() {
    let cloud = Cloud::new(|asked| match asked.header("x-auth-token") {
        "token-2" => flavor(asked).after(Duration::from_millis(10)),
        _ => Reply::unauthorized().after(Duration::from_millis(50)),
    });
    let client = cloud.client();
    join_all((0..50).map(|_| ask(&client))).await.into_iter().for_each(Result::unwrap);
    assert_eq!((cloud.logins(), cloud.calls().len()), (2, 100));
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_replaced_once_and_no_more() {
    let cloud = Cloud::new(|_| Reply::unauthorized());
    let error = ask(&cloud.client()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unauthenticated);
    assert_eq!(error.service(), Some(Service::Compute));
    assert_eq!((cloud.logins(), cloud.calls().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_404_after_a_new_token_is_still_a_404() {
    let cloud = Cloud::new(|asked| match asked.header("x-auth-token") {
        "token-1" => Reply::unauthorized(),
        _ => Reply::json(
            404,
            &json!({"itemNotFound": {"code": 404, "message": "Flavor 1 could not be found."}}),
        ),
    });
    assert!(ask(&cloud.client()).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn nothing_but_a_401_is_ever_repeated() {
    for status in [403, 408, 409, 429, 500, 502, 503, 504] {
        let cloud = Cloud::new(move |_| Reply::text(status, ""));
        ask(&cloud.client()).await.unwrap_err();
        assert_eq!((cloud.logins(), cloud.calls().len()), (1, 1), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_before_it_runs_out_and_nobody_waits_for_that() {
    let issued = AtomicU64::new(0);
    let cloud = Cloud::new(flavor).keystone(move |_| {
        let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
        let pause = if number == 1 { Duration::ZERO } else { Duration::from_secs(20) };
        token(&format!("token-{number}"), Duration::from_secs(3600)).after(pause)
    });
    let client = cloud.client();
    ask(&client).await.unwrap();
    advance(Duration::from_secs(3299)).await;
    ask(&client).await.unwrap();
    assert_eq!(cloud.logins(), 1, "not yet due");
    advance(Duration::from_secs(2)).await;
    let before = Instant::now();
    for _ in 0..5 {
        ask(&client).await.unwrap();
    }
    assert_eq!(before.elapsed(), Duration::ZERO, "the old token still works");
    assert_eq!(cloud.calls().last().unwrap().header("x-auth-token"), "token-1");
    let used = |token: &str| cloud.calls().last().unwrap().header("x-auth-token") == token;
    while !used("token-2") {
        assert!(before.elapsed() < Duration::from_secs(30), "the new token is used as soon as it is there");
        tokio::time::sleep(Duration::from_secs(1)).await;
        ask(&client).await.unwrap();
    }
    assert_eq!(cloud.logins(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_leaves_the_old_token_until_it_dies() {
    let issued = AtomicU64::new(0);
    let cloud = Cloud::new(flavor).keystone(move |_| match issued.fetch_add(1, Ordering::SeqCst) {
        0 => token("token-1", Duration::from_secs(3600)),
        _ => Reply::text(503, "down"),
    });
    let client = cloud.client();
    ask(&client).await.unwrap();
    advance(Duration::from_secs(3400)).await;
    for _ in 0..20 {
        ask(&client).await.unwrap();
        tokio::task::yield_now().await;
        advance(Duration::from_secs(1)).await;
    }
    let tries = cloud.logins();
    assert!((3..=8).contains(&tries), "tried again with growing pauses, not with each call: {tries}");
    advance(Duration::from_secs(600)).await;
    let error = ask(&client).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_has_run_out_is_never_sent() {
    let cloud = Cloud::new(flavor);
    let client = cloud.client();
    ask(&client).await.unwrap();
    advance(Duration::from_secs(3596)).await;
    ask(&client).await.unwrap();
    assert_eq!(cloud.calls().last().unwrap().header("x-auth-token"), "token-2");
}

#[tokio::test(start_paused = true)]
async fn a_skewed_clock_does_not_shorten_the_life_of_a_token() {
    let cloud = Cloud::new(flavor);
    let late = Settings::new(options().resolve().unwrap())
        .clock(Arc::new(|| "2031-01-01T00:00:00Z".parse().unwrap()));
    let client = Client::new(cloud.transport(), late);
    for _ in 0..3 {
        ask(&client).await.unwrap();
    }
    assert_eq!(cloud.logins(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_keystone_that_hangs_is_given_up_after_the_time_limit_by_all_who_wait() {
    let cloud = Cloud::new(flavor).keystone(|_| Reply::Silence);
    let client = cloud.client();
    let since = Instant::now();
    let results = join_all((0..20).map(|_| ask(&client))).await;
    assert_eq!(since.elapsed(), Duration::from_secs(60));
    for result in results {
        let error = result.unwrap_err();
        assert_eq!((error.class(), error.service()), (ErrorClass::Transient, Some(Service::Identity)));
        assert!(error.to_string().contains("POST /v3/auth/tokens"), "{error}");
    }
    assert_eq!(cloud.logins(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_not_tried_again_and_again() {
    let cloud = Cloud::new(flavor).keystone(|_| Reply::unauthorized());
    let client = cloud.client();
    for _ in 0..100 {
        let error = ask(&client).await.unwrap_err();
        assert_eq!((error.class(), error.service()), (ErrorClass::Unauthenticated, Some(Service::Identity)));
        advance(Duration::from_millis(50)).await;
    }
    assert_eq!(cloud.logins(), 1, "within the first pause of ten seconds");
    for _ in 0..60 {
        advance(Duration::from_secs(60)).await;
        ask(&client).await.unwrap_err();
    }
    assert!((8..25).contains(&cloud.logins()), "an hour at growing pauses: {}", cloud.logins());
}

#[tokio::test(start_paused = true)]
async fn a_keystone_that_asks_for_a_pause_gets_it() {
    let cloud = Cloud::new(flavor).keystone(|_| Reply::text(503, "").with("retry-after", "120"));
    let client = cloud.client();
    for _ in 0..12 {
        let error = ask(&client).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Throttled);
        advance(Duration::from_millis(9990)).await;
    }
    assert_eq!(cloud.logins(), 1);
    advance(Duration::from_secs(1)).await;
    ask(&client).await.unwrap_err();
    assert_eq!(cloud.logins(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_keystone_that_comes_back_is_noticed() {
    let up = Arc::new(AtomicBool::new(false));
    let is_up = Arc::clone(&up);
    let cloud = Cloud::new(flavor).keystone(move |_| match is_up.load(Ordering::SeqCst) {
        true => token("token-1", Duration::from_secs(3600)),
        false => Reply::Broken("connection refused"),
    });
    let client = cloud.client();
    ask(&client).await.unwrap_err();
    up.store(true, Ordering::SeqCst);
    advance(Duration::from_secs(2)).await;
    ask(&client).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_does_not_spoil_the_token_for_the_others() {
    let keystone = |_: &Asked| token("token-1", Duration::from_secs(3600)).after(Duration::from_secs(5));
    let cloud = Cloud::new(flavor).keystone(keystone);
    let client = cloud.client();
    tokio::time::timeout(Duration::from_secs(1), ask(&client)).await.unwrap_err();
    advance(Duration::from_secs(300)).await;
    ask(&client).await.unwrap();
    assert_eq!(cloud.logins(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_token_is_an_error_and_never_a_token() {
    let good = || token("token-1", Duration::from_secs(3600));
    let Reply::Answer { body, .. } = good() else { panic!() };
    let cut = String::from_utf8(body[..200].to_vec()).unwrap();
    for reply in [
        Reply::text(201, "<html>welcome</html>").with("x-subject-token", "token-1"),
        Reply::text(201, &cut).with("x-subject-token", "token-1"),
        Reply::Answer { status: 201, headers: vec![], body },
        Reply::json(201, &json!({"token": {"catalog": []}})).with("x-subject-token", "token-1"),
        Reply::json(201, &json!({"token": {"expires_at": "soon"}})).with("x-subject-token", "token-1"),
    ] {
        let shown = format!("{reply:?}");
        let cloud = Cloud::new(flavor).keystone(move |_| reply.clone());
        let error = ask(&cloud.client()).await.expect_err(&shown);
        assert_eq!(error.class(), ErrorClass::Transient, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_error_and_no_debug_shows_a_password_or_a_token() {
    // Keystone repeats requests that it does not understand.
    let repeating = |asked: &Asked| {
        Reply::json(
            400,
            &json!({"error": {"code": 400, "title": "Bad Request",
            "message": format!("Expecting to find x in {}", asked.body)}}),
        )
    };
    let cloud = Cloud::new(flavor).keystone(repeating);
    let odd = AuthOptions { password: Some(SecretString::from("odd\\\"pa55")), ..options() };
    let client = Client::new(cloud.transport(), Settings::new(odd.resolve().unwrap()));
    let error = ask(&client).await.unwrap_err();
    assert!(!error.to_string().contains("pa55"), "{error}");
    let client = cloud.client();
    let error = ask(&client).await.unwrap_err();
    let shown = format!("{error} {error:?} {client:?} {:?} {:?}", Cloud::settings(), cloud.transport());
    assert!(!shown.contains(PASSWORD), "{shown}");

    let repeating = |asked: &Asked| {
        Reply::json(
            400,
            &json!({"badRequest": {"code": 400, "message": format!("bad {}", asked.header("x-auth-token"))}}),
        )
    };
    let cloud = Cloud::new(repeating);
    let client = cloud.client();
    let error = ask(&client).await.unwrap_err();
    let shown = format!("{error} {error:?} {client:?} {:?}", client.compute());
    assert!(!shown.contains("token-1") && !shown.contains(PASSWORD), "{shown}");
}
