//! The status page in headless Chromium, over a whole manager on both simulators, in real time. Its pictures are kept in
//! `target/browser`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests: a lock that is poisoned or an answer of another form is a failed test"
)]

mod chromium;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bowline_cloud::PAUSED;
use bowline_manager::status::open::{self, OpenPage};
use browser_tests::Stage;
use chromium::Browser;
use http::StatusCode;
use jiff::Timestamp;
use sim_openstack::{Fault, Rule, Service};
use tokio_util::sync::CancellationToken;

/// The tab key.
const TAB: (&str, u32) = ("Tab", 9);

/// What the page says.
const TEXT: &str = "document.querySelector('#services').innerText";

/// How many Services are settled.
const SETTLED: &str = "document.querySelectorAll('.service .badge.good').length";

fn pictures() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target"));
    let pictures = target.join("browser");
    std::fs::create_dir_all(&pictures).with_context(|| pictures.display().to_string())?;
    Ok(pictures)
}

struct Shown {
    stage: Stage,
    open: OpenPage,
    closing: CancellationToken,
    url: String,
    browser: Browser,
}

/// A cluster of three Nodes and the page of its manager, in the browser.
async fn show() -> Result<Shown> {
    let stage = Stage::set(Timestamp::now(), 4).await?;
    stage.register(1..=3)?;
    let closing = CancellationToken::new();
    let open = open::serve(&stage.page, "127.0.0.1:0".parse()?, closing.clone()).await?;
    let url = format!("http://{}/bowline", open.address);
    let mut browser = Browser::start().await?;
    browser.look(1200, 900, "light").await?;
    browser.go(&url).await?;
    browser.until("document.getElementById('connection').textContent === 'Live'").await?;
    Ok(Shown { stage, open, closing, url, browser })
}

impl Shown {
    async fn end(self) -> Result<()> {
        self.browser.end().await?;
        self.closing.cancel();
        self.open.ended().await;
        self.stage.end().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_read_updated_live_and_drawn_in_light_dark_and_small() -> Result<()> {
    let mut shown = show().await?;
    let (browser, pictures) = (&mut shown.browser, pictures()?);
    browser.until("document.querySelectorAll('#nodes tbody tr').length === 3").await?;
    browser.value("window.marked = 1").await?;
    shown.stage.apply("web", &[80, 443])?;
    browser.until(&format!("{TEXT}.includes('Waiting') && {TEXT}.includes('PENDING_CREATE')")).await?;
    browser.picture(&pictures.join("waiting-light.png"), false).await?;
    browser
        .until(&format!("{TEXT}.includes('Settled') && document.querySelectorAll('.member').length === 6"))
        .await?;
    assert_eq!(browser.value("window.marked").await?, 1, "the page was not loaded again");

    // The one for the README.
    shown.stage.apply("wiki", &[443])?;
    shown.stage.register([4])?;
    browser.until(&format!("{SETTLED} === 2 && document.querySelectorAll('.member').length === 12")).await?;
    browser.look(1200, 1000, "light").await?;
    browser.picture(&pictures.join("readme.png"), false).await?;

    // And one that means harm.
    shown.stage.apply("shop", &[443])?;
    shown.stage.annotate("shop", PAUSED, "<b onclick=alert(1)>until the sale is over</b>")?;
    browser.until(&format!("document.querySelectorAll('.service').length === 3 && {SETTLED} === 2")).await?;
    assert_eq!(
        browser.value("document.querySelectorAll('#services b').length").await?,
        0,
        "markup stays text"
    );
    browser.until(&format!("{TEXT}.includes('<b onclick=alert(1)>')")).await?;
    for (name, width, height, scheme) in [
        ("light", 1200, 900, "light"),
        ("dark", 1200, 900, "dark"),
        ("phone", 390, 844, "light"),
        ("phone-dark", 390, 844, "dark"),
    ] {
        browser.look(width, height, scheme).await?;
        browser.go(&shown.url).await?;
        browser.until("document.getElementById('connection').textContent === 'Live'").await?;
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= window.innerWidth").await?,
            true,
            "{name}: nothing is wider than the window"
        );
        let paper = browser.value("getComputedStyle(document.body).backgroundColor").await?;
        let expected = if scheme == "dark" { "rgb(16, 21, 28)" } else { "rgb(246, 247, 249)" };
        assert_eq!(paper, expected, "{name}");
        browser.picture(&pictures.join(format!("{name}.png")), false).await?;
        browser.picture(&pictures.join(format!("{name}-whole.png")), true).await?;
        assert_eq!(browser.complaints(), [""; 0], "{name}");
        let elsewhere: Vec<_> = browser
            .requests()
            .into_iter()
            .filter(|url| !url.starts_with(&shown.url) && !url.starts_with("data:"))
            .collect();
        assert_eq!(elsewhere, [""; 0], "{name}: nothing is asked of others");
    }
    shown.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_can_be_used_with_the_keyboard_alone() -> Result<()> {
    let mut shown = show().await?;
    let browser = &mut shown.browser;
    for name in ["web", "mail", "shop", "chat"] {
        shown.stage.apply(name, &[80])?;
    }
    browser.until(&format!("{SETTLED} === 4")).await?;
    browser.go(&shown.url).await?;
    browser.until("document.getElementById('connection').textContent === 'Live'").await?;
    browser.press(TAB.0, TAB.1).await?;
    let focused = "document.activeElement.innerText || document.activeElement.name";
    assert_eq!(browser.value(focused).await?, "Skip to content");
    browser.press("Enter", 13).await?;
    assert_eq!(browser.value("document.activeElement.id").await?, "main");
    let mut seen = Vec::new();
    for _ in 0..60 {
        browser.press(TAB.0, TAB.1).await?;
        let what = browser
            .value("document.activeElement.closest('details')?.dataset.key || document.activeElement.tagName")
            .await?;
        let visible = "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; })()";
        if browser.value("document.activeElement === document.body").await? == true {
            break;
        }
        assert_eq!(browser.value(visible).await?, true, "the focus on {what} can be seen");
        seen.push(what.as_str().unwrap_or_default().to_owned());
        if what == "service default/chat" {
            // Opened by the keyboard, it stays open and keeps the focus while the page changes under it.
            browser.press("Enter", 13).await?;
            browser.until("document.activeElement.closest('details').open").await?;
            shown.stage.apply("late", &[80])?;
            browser.until(&format!("{TEXT}.includes('late')")).await?;
            let still = "document.activeElement.closest('details')?.dataset.key";
            assert_eq!(browser.value(still).await?, "service default/chat");
            assert_eq!(browser.value("document.activeElement.closest('details').open").await?, true);
        }
    }
    for wanted in ["service default/chat", "service default/web", "INPUT", "BUTTON", "calls", "A"] {
        assert!(seen.iter().any(|what| what == wanted), "{wanted} is reached: {seen:?}");
    }
    shown.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cloud_that_is_silent_and_a_server_that_ends_are_told() -> Result<()> {
    let mut shown = show().await?;
    let pictures = pictures()?;
    let browser = &mut shown.browser;
    shown.stage.fault(Rule::new(Fault::status(StatusCode::SERVICE_UNAVAILABLE)).on(Service::LoadBalancer));
    shown.stage.apply("web", &[80])?;
    browser
        .until("document.querySelector('#problems-body').innerText.includes('The cloud cannot be read')")
        .await?;
    browser.picture(&pictures.join("silent-cloud.png"), false).await?;
    shown.stage.mend();
    browser.until("document.querySelector('#problems-body').innerText === ''").await?;

    let address = shown.open.address;
    shown.closing.cancel();
    shown.open.ended().await;
    browser.until("document.getElementById('connection').textContent === 'Not live'").await?;
    let lost = browser.value("document.getElementById('lost').innerText").await?;
    let lost = lost.as_str().unwrap_or_default();
    assert!(lost.contains("Connection lost since") && lost.contains("retrying"), "{lost}");
    assert_eq!(
        browser.value("getComputedStyle(document.getElementById('lost')).display !== 'none'").await?,
        true
    );
    browser.picture(&pictures.join("lost.png"), false).await?;

    // It comes back by itself.
    shown.closing = CancellationToken::new();
    shown.open = open::serve(&shown.stage.page, address, shown.closing.clone()).await?;
    browser.until("document.getElementById('connection').textContent === 'Live'").await?;
    assert_eq!(browser.value("document.getElementById('lost').hidden").await?, true);
    shown.end().await
}
