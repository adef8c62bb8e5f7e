//! Drives Chromium over its DevTools protocol. No port is opened and no client library is needed: commands and events are lines,
//! ended by a zero byte, on two pipes (`--remote-debugging-pipe`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bowline_testkit::{Wait, deadline};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The browser reads commands from 3 and writes to 4. Our own ends are the standard ones.
const START: &str = r#"exec chromium --headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions \
  --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars --force-color-profile=srgb \
  --remote-debugging-pipe --user-data-dir="$PROFILE" about:blank 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"#;

type Waiting = Arc<Mutex<BTreeMap<u64, oneshot::Sender<Value>>>>;

/// A browser with one page.
pub(crate) struct Browser {
    commands: ChildStdin,
    waiting: Waiting,
    events: Arc<Mutex<Vec<Value>>>,
    next: u64,
    session: Option<String>,
    child: Child,
    _profile: TempDir,
}

impl Browser {
    /// Starts it and opens an empty page.
    pub(crate) async fn start() -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut child = Command::new("sh")
            .args(["-c", START])
            .env("PROFILE", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("chromium cannot be started; on Debian: apt-get install chromium")?;
        let commands = child.stdin.take().context("a pipe")?;
        let answers = child.stdout.take().context("a pipe")?;
        let (waiting, events) = (Waiting::default(), Arc::new(Mutex::new(Vec::new())));
        let (answered, told) = (waiting.clone(), events.clone());
        tokio::spawn(async move {
            let mut lines = BufReader::new(answers);
            let mut line = Vec::new();
            while lines.read_until(0, &mut line).await.is_ok_and(|bytes| bytes > 0) {
                let message: Value =
                    serde_json::from_slice(line.trim_ascii_end().strip_suffix(&[0]).unwrap_or(&line))
                        .unwrap_or_default();
                line.clear();
                match message["id"].as_u64().and_then(|id| answered.lock().unwrap().remove(&id)) {
                    Some(answer) => drop(answer.send(message)),
                    None => told.lock().unwrap().push(message),
                }
            }
        });
        let mut browser =
            Self { commands, waiting, events, next: 0, session: None, child, _profile: profile };
        browser.open_page().await?;
        Ok(browser)
    }

    async fn open_page(&mut self) -> Result<()> {
        let target = self.command("Target.createTarget", json!({"url": "about:blank"})).await?;
        let target = target["targetId"].as_str().context("a target")?.to_owned();
        let session =
            self.command("Target.attachToTarget", json!({"targetId": target, "flatten": true})).await?;
        self.session = Some(session["sessionId"].as_str().context("a session")?.to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Network.enable", "Log.enable"] {
            self.command(domain, json!({})).await?;
        }
        Ok(())
    }

    /// Gives a command and waits for its result.
    pub(crate) async fn command(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap().insert(self.next, answer);
        let mut line = serde_json::to_vec(&message)?;
        line.push(0);
        self.commands.write_all(&line).await?;
        self.commands.flush().await?;
        let mut message =
            timeout(deadline(), answered).await.with_context(|| format!("no answer to {method}"))??;
        match message.get("error") {
            Some(error) => Err(anyhow!("{method}: {error}")),
            None => Ok(message["result"].take()),
        }
    }

    /// Goes to an address and waits until it is loaded.
    pub(crate) async fn go(&mut self, url: &str) -> Result<()> {
        self.events.lock().unwrap().clear();
        let gone = self.command("Page.navigate", json!({"url": url})).await?;
        if let Some(error) = gone["errorText"].as_str() {
            bail!("{url}: {error}");
        }
        self.until("document.readyState === 'complete'").await
    }

    /// What an expression is on the page.
    pub(crate) async fn value(&mut self, expression: &str) -> Result<Value> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut result = self.command("Runtime.evaluate", params).await?;
        match result.get("exceptionDetails") {
            Some(why) => Err(anyhow!("{expression}: {why}")),
            None => Ok(result["result"]["value"].take()),
        }
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&mut self, expression: &str) -> Result<()> {
        let is_true = async || Ok((self.value(expression).await? == true).then_some(()));
        if let Err(error) = Wait::default().until(expression, is_true).await {
            let shown = self.value("document.body.innerText").await?;
            return Err(error.context(format!("the page shows: {shown}")));
        }
        Ok(())
    }

    /// The window has this size, light or dark.
    pub(crate) async fn look(&mut self, width: u32, height: u32, scheme: &str) -> Result<()> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.command("Emulation.setDeviceMetricsOverride", size).await?;
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", features).await?;
        Ok(())
    }

    /// A person presses a key.
    pub(crate) async fn press(&mut self, key: &str, code: u32) -> Result<()> {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" && kind == "keyDown" { "\r" } else { "" };
            let params =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.command("Input.dispatchKeyEvent", params).await?;
        }
        Ok(())
    }

    /// Takes a picture of the page, whole or as far as the window goes.
    pub(crate) async fn picture(&mut self, path: &Path, whole: bool) -> Result<()> {
        let params = json!({"format": "png", "captureBeyondViewport": whole});
        let mut params = params;
        if whole {
            let size = self.command("Page.getLayoutMetrics", json!({})).await?;
            let size = &size["cssContentSize"];
            params["clip"] =
                json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        }
        let picture = self.command("Page.captureScreenshot", params).await?;
        let bytes = STANDARD.decode(picture["data"].as_str().context("a picture")?)?;
        std::fs::write(path, bytes).with_context(|| path.display().to_string())
    }

    /// What the page complained of since it was gone to: errors of the console, exceptions, refusals of its policy.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let bad = events.iter().filter(|event| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            _ => false,
        });
        bad.map(ToString::to_string).collect()
    }

    /// What the page asked for since it was gone to.
    pub(crate) fn requests(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let sent = events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| event["params"]["request"]["url"].as_str()).map(str::to_owned).collect()
    }

    /// Ends it.
    pub(crate) async fn end(mut self) -> Result<()> {
        self.session = None;
        self.command("Browser.close", json!({})).await.ok();
        timeout(deadline(), self.child.wait()).await.context("chromium does not end")??;
        Ok(())
    }
}
