//! `page`: the status page of a whole manager, which asks the API server who looks, for a browser that can show no credentials. And what
//! other commands ask the manager by the same way. Whatever else answers in place of the leader gets no token.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bowline_cli::page::{self, Shown};
use bowline_cloud::Cloud;
use bowline_manager::exit::{Exit, StopSignal};
use bowline_manager::logging::{LoggingOptions, subscriber};
use bowline_manager::signals::Signals;
use bowline_manager::{CloudControllerManager, Surroundings};
use bowline_openstack::cloud::{NAME, OpenStackCloud, Surroundings as CloudSurroundings};
use bowline_testkit::deadline;
use clap::Parser;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sim_kube::User;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::harness::{Harness, Line};
use crate::recorder::{Recorder, Tls};

/// A manager with its secure port. The Lease is another one's: the page is there all the same.
struct Running {
    port: u16,
    /// The page that is open to everybody on this machine.
    open: SocketAddr,
    certificate: PathBuf,
    signals: Signals,
    task: JoinHandle<Exit>,
}

impl Running {
    async fn start(stage: &Harness) -> anyhow::Result<Self> {
        // Free now, and for the moment until the manager takes it.
        let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        let open = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let (folder, signals) = (stage.folder.path(), Signals::default());
        let kubeconfig = folder.join("kubeconfig").display().to_string();
        let flags = [
            format!("--cloud-provider={NAME}"),
            format!("--cloud-config={}", stage.conf().display()),
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            "--authentication-skip-lookup".to_owned(),
            "--configure-cloud-routes=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--cert-dir={}", folder.join("serving").display()),
        ];
        let manager = CloudControllerManager::new("ccm", "test").async_cloud(NAME, |config| async move {
            let cloud = OpenStackCloud::from_config(&config, CloudSurroundings::of_process("test")).await?;
            Ok(Arc::new(cloud) as Arc<dyn Cloud>)
        });
        let manager = manager.open_status_page(open);
        let (_dispatch, log_level) = subscriber(&LoggingOptions::default(), std::io::sink)?;
        let around = Surroundings { signals: signals.clone(), log_level };
        let task = tokio::spawn(async move { manager.run_inside(&flags, around).await });
        let certificate = folder.join("serving/cloud-controller-manager.crt");
        let running = Self { port, open, certificate, signals, task };
        let serves = async {
            for address in [SocketAddr::from(([127, 0, 0, 1], port)), open] {
                while TcpStream::connect(address).await.is_err() && !running.task.is_finished() {
                    sleep(Duration::from_millis(20)).await;
                }
            }
        };
        timeout(deadline(), serves).await.context("it does not serve")?;
        ensure!(!running.task.is_finished(), "it ended by itself");
        stage.name_certificate(&CertificateDer::from_pem_file(&running.certificate)?)?;
        Ok(running)
    }

    async fn end(self) -> anyhow::Result<()> {
        self.signals.note(StopSignal::Terminate);
        self.task.await?;
        Ok(())
    }
}

/// A kubeconfig of somebody with a token.
fn kubeconfig_of(stage: &Harness, token: &str) -> anyhow::Result<PathBuf> {
    let text = std::fs::read_to_string(stage.folder.path().join("kubeconfig"))?;
    let path = stage.folder.path().join(format!("kubeconfig-{token}"));
    std::fs::write(&path, text.replace("user: {}", &format!("user:\n    token: {token}")))?;
    Ok(path)
}

/// A kubectl whose ways all end at this port. The simulated cluster has no kubelets that could make one.
fn kubectl_to(stage: &Harness, port: u16) -> anyhow::Result<PathBuf> {
    let path = stage.folder.path().join("kubectl");
    let told = stage.folder.path().join("kubectl-was-told");
    let text = format!(
        "#!/bin/sh\necho \"$@\" >> {}\necho 'Forwarding from 127.0.0.1:{port} -> 10258'\nexec sleep 600\n",
        told.display()
    );
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

async fn show(kubeconfig: &Path, more: &[&str]) -> Result<Shown, String> {
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let words = ["bowline", "page", "--port=0", &kubeconfig].into_iter().chain(more.iter().copied());
    match Line::try_parse_from(words).map_err(|error| error.to_string())?.command {
        bowline_cli::Command::Page(arguments) => page::show(&arguments).await.map_err(|ending| ending.why),
        other => Err(format!("{other:?}")),
    }
}

/// Asks, and reads until this was said or the other side has ended.
async fn ask(address: SocketAddr, request: &str, until: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut said = Vec::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while until.is_empty() || !String::from_utf8_lossy(&said).contains(until) {
            match stream.read(&mut buffer).await? {
                0 => break,
                bytes => said.extend_from_slice(buffer.get(..bytes).unwrap_or_default()),
            }
        }
        anyhow::Ok(())
    };
    timeout(deadline(), reading).await.with_context(|| request.to_owned())??;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

async fn get(address: SocketAddr, path: &str) -> anyhow::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    ask(address, &request, "").await
}

fn known(stage: &Harness) {
    for name in ["ann", "bob", "carl"] {
        let user = User { name: name.to_owned(), groups: vec!["system:authenticated".to_owned()] };
        stage.kube.add_token(name, user);
    }
    // Bob may do all but see pages himself, Carl may do all but ask for tokens.
    stage.kube.authorize_with(|access| match access.user.name.as_str() {
        "bob" => !access.resource.is_empty(),
        "carl" => access.subresource != "token",
        _ => true,
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_sees_the_page_of_the_leader_live_and_nothing_else() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    known(&stage);
    let manager = Running::start(&stage).await?;
    let kubectl = format!("--kubectl={}", kubectl_to(&stage, manager.port)?.display());
    let shown = show(&kubeconfig_of(&stage, "ann")?, &[&kubectl]).await.map_err(anyhow::Error::msg)?;
    let address = shown.address;
    ensure!(address.ip().is_loopback() && shown.whose == "pod kube-system/ccm-1, which leads", "{shown:?}");
    ensure!(
        shown.words().contains(&format!("http://{address}/bowline\nCtrl-C ends it.")),
        "{}",
        shown.words()
    );
    let told = std::fs::read_to_string(stage.folder.path().join("kubectl-was-told"))?;
    ensure!(
        told.contains("--namespace=kube-system port-forward --address=127.0.0.1 pod/ccm-1 :10258"),
        "{told}"
    );

    let page = get(address, "/bowline").await?;
    ensure!(page.starts_with("HTTP/1.1 200") && page.to_lowercase().contains("<!doctype html>"), "{page}");
    ensure!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    let programs = get(address, "/bowline.json?service=web").await?;
    ensure!(programs.starts_with("HTTP/1.1 200") && programs.contains("\"replica\""), "{programs}");
    let root = get(address, "/").await?;
    ensure!(root.starts_with("HTTP/1.1 307") && root.contains("location: /bowline"), "{root}");
    // The stream does not end: what came so far is handed on at once.
    let live = format!("GET /bowline/live HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let live = ask(address, &live, "event: parts\ndata: {").await?;
    ensure!(live.contains("content-type: text/event-stream"), "{live}");

    for (request, code) in [
        (
            format!(
                "POST /bowline HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            ),
            "405",
        ),
        (format!("HEAD /bowline/live HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"), "405"),
        (format!("GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"), "404"),
        ("GET /bowline HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n".to_owned(), "421"),
    ] {
        let answer = ask(address, &request, "").await?;
        ensure!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{request}: {answer}");
    }

    manager.end().await?;
    let gone = get(address, "/bowline").await?;
    ensure!(gone.starts_with("HTTP/1.1 502") && gone.contains("the manager does not answer"), "{gone}");
    shown.end().await;
    ensure!(TcpStream::connect(address).await.is_err(), "the port is closed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_look_or_does_not_know_whom_they_talk_to_is_told_what_to_do() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    known(&stage);
    let manager = Running::start(&stage).await?;
    let url = format!("--url=https://127.0.0.1:{}", manager.port);
    let (ann, bob) = (kubeconfig_of(&stage, "ann")?, kubeconfig_of(&stage, "bob")?);
    let refused = |shown: Result<Shown, String>| match shown {
        Ok(shown) => bail!("{shown:?}"),
        Err(why) => Ok(why),
    };
    let authority = format!("--certificate-authority={}", manager.certificate.display());
    let shown = show(&ann, &[&url, &authority]).await.map_err(anyhow::Error::msg)?;
    ensure!(get(shown.address, "/bowline").await?.starts_with("HTTP/1.1 200"));
    shown.end().await;

    let stranger = refused(show(&ann, &[&url]).await)?;
    ensure!(
        stranger.contains("the manager does not answer") && stranger.contains("certificate"),
        "{stranger}"
    );
    let (skip, own) = ("--insecure-skip-tls-verify", "--own-credentials");
    // The viewer's account may see it for him.
    show(&bob, &[&url, &authority]).await.map_err(anyhow::Error::msg)?.end().await;
    let forbidden = refused(show(&bob, &[&url, &authority, own]).await)?;
    ensure!(forbidden.contains("answers 403") && forbidden.contains("/bowline.json"), "{forbidden}");
    ensure!(refused(show(&ann, &[&url, skip, own]).await)?.contains("cannot be used with"));

    let carl = kubeconfig_of(&stage, "carl")?;
    let lacking = refused(show(&carl, &[&url, &authority]).await)?;
    for words in ["the right to create serviceaccounts/token of bowline-viewer", "kube-system", own] {
        ensure!(lacking.contains(words), "{lacking}");
    }
    show(&carl, &[&url, &authority, own]).await.map_err(anyhow::Error::msg)?.end().await;
    let nobody = refused(show(&ann, &[&url, &authority, "--viewer-account=nobody"]).await)?;
    for words in ["no ServiceAccount kube-system/nobody", "deploy/rbac-viewer.yaml", own] {
        ensure!(nobody.contains(words), "{nobody}");
    }

    let token = stage.folder.path().join("token");
    std::fs::write(&token, "ann\n")?;
    let token_file = format!("--token-file={}", token.display());
    show(&bob, &[&url, skip, &token_file]).await.map_err(anyhow::Error::msg)?.end().await;
    std::fs::write(&token, "nobody")?;
    let unknown = refused(show(&ann, &[&url, skip, &token_file]).await)?;
    ensure!(unknown.contains("answers 401") && unknown.contains("--token-file"), "{unknown}");

    for text in ["two\nlines", "\n"] {
        std::fs::write(&token, text)?;
        let garbled = refused(show(&ann, &[&url, skip, &token_file]).await)?;
        ensure!(garbled.contains("that is no token") && !garbled.contains("lines"), "{garbled}");
    }

    for plain in ["--url=http://192.0.2.1:1", "--url=http://localhost.example:1", "--url=127.0.0.1:1"] {
        let plain = refused(show(&ann, &[plain]).await)?;
        ensure!(plain.contains("wanted https://"), "{plain}");
    }
    let plain = refused(show(&ann, &["--url=http://127.0.0.1:1", &token_file]).await)?;
    ensure!(plain.contains("without a token"), "{plain}");
    // A leader that names no certificate is an older one, or another program.
    stage.lead(jiff::Timestamp::now())?;
    let kubectl = format!("--kubectl={}", kubectl_to(&stage, manager.port)?.display());
    let unnamed = refused(show(&ann, &[&kubectl]).await)?;
    ensure!(unnamed.contains("names no serving certificate") && unnamed.contains("--url"), "{unnamed}");
    show(&ann, &[&kubectl, skip]).await.map_err(anyhow::Error::msg)?.end().await;
    stage.lead("2026-01-01T00:00:00Z".parse()?)?;
    let nobody = refused(show(&ann, &[]).await)?;
    ensure!(nobody.contains("nobody leads") && nobody.contains("doctor"), "{nobody}");
    manager.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn breaker_and_budgets_are_asked_of_the_leader_with_a_token_of_the_viewer() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    known(&stage);
    let manager = Running::start(&stage).await?;
    let kubectl = format!("--kubectl={}", kubectl_to(&stage, manager.port)?.display());
    let (ann, bob) = (kubeconfig_of(&stage, "ann")?, kubeconfig_of(&stage, "bob")?);
    let conf = stage.conf();
    for command in ["status", "breaker status"] {
        let told = stage.run_by(&ann, &format!("{command} -o json {kubectl}"), Some(&conf)).await?;
        let rails = &told.json()?["rails"];
        ensure!(told.code == 0 && rails["from"] == "the overview of the leader", "{told:?}");
        ensure!(rails["breakerOpen"] == false && rails["heldNodes"]["breaker"] == 0, "{rails}");
        ensure!(rails["heldPlans"]["create-budget"] == 0 && rails["problem"].is_null(), "{rails}");
    }
    let bundle = stage.folder.path().join("bundle");
    let line = format!("support-bundle --out {} {kubectl}", bundle.display());
    stage.run_by(&ann, &line, Some(&conf)).await?;
    let overview = std::fs::read_to_string(bundle.join("manager/overview.json"))?;
    let metrics = std::fs::read_to_string(bundle.join("manager/metrics.txt"))?;
    ensure!(overview.contains("\"rails\"") && metrics.contains("bowline_"), "{overview} {metrics}");

    // Who may not look is told so, and what right it takes.
    let refused =
        stage.run_by(&bob, &format!("status -o json {kubectl} --own-credentials"), Some(&conf)).await?;
    let rails = &refused.json()?["rails"];
    let why = rails["problem"].as_str().unwrap_or_default();
    ensure!(why.contains("answers 403") && why.contains("/bowline.json"), "{rails}");
    ensure!(rails["breakerOpen"].is_null(), "{rails}");

    // A page that is open on this machine asks nobody who they are.
    let open = format!("status -o json --url http://{}/bowline", manager.open);
    let rails = &stage.run_by(&bob, &open, Some(&conf)).await?.json()?["rails"];
    ensure!(rails["breakerOpen"] == false && rails["problem"].is_null(), "{rails}");
    let nobody = stage.run_by(&ann, "status -o json --url https://127.0.0.1:1", Some(&conf)).await?;
    let rails = &nobody.json()?["rails"];
    ensure!(
        rails["problem"].as_str().is_some_and(|why| why.contains("the manager does not answer")),
        "{rails}"
    );
    manager.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_answers_in_place_of_the_leader_gets_no_token() -> anyhow::Result<()> {
    let stage = Harness::start(1).await?;
    known(&stage);
    let (tls, conf) = (Tls::new()?, stage.conf());
    let impostor = Recorder::start(Some(&tls)).await?;
    let leader = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    stage.name_certificate(leader.cert.der())?;
    let kubectl = format!("--kubectl={}", kubectl_to(&stage, impostor.port)?.display());
    let ann = kubeconfig_of(&stage, "ann")?;
    let bundle = stage.folder.path().join("bundle.tar").display().to_string();
    for command in ["status", "breaker status", "doctor", &format!("support-bundle --out {bundle}")] {
        for whose in ["", "--own-credentials"] {
            let told = stage.run_by(&ann, &format!("{command} {whose} {kubectl}"), Some(&conf)).await?;
            std::fs::remove_file(&bundle).ok();
            let text = format!("{}{}", told.out, told.err);
            ensure!(impostor.take().is_empty(), "{command} {whose}: {text}");
            // What doctor does not learn in this way is no finding of its own.
            let is_told = text.contains("shows certificate") && text.contains("the Lease names");
            ensure!(is_told || command == "doctor", "{command} {whose}: {text}");
        }
    }
    for whose in [&[kubectl.as_str()][..], &[&kubectl, "--own-credentials"]] {
        match show(&ann, whose).await {
            Ok(shown) => bail!("{shown:?}"),
            Err(why) => ensure!(why.contains("something else answers in place of the leader"), "{why}"),
        }
        ensure!(impostor.take().is_empty());
    }

    // Where a person takes any certificate, the token of the person is not what is shown.
    stage.run_by(&ann, &format!("status --insecure-skip-tls-verify {kubectl}"), Some(&conf)).await?;
    let heard = impostor.take();
    ensure!(heard.to_lowercase().contains("authorization: bearer sim."), "{heard}");
    ensure!(!heard.contains("Bearer ann"), "{heard}");
    // And the one that the Lease names gets what the person says it shall get.
    stage.name_certificate(&tls.certificate)?;
    stage.run_by(&ann, &format!("status {kubectl}"), Some(&conf)).await?;
    ensure!(impostor.take().to_lowercase().contains("authorization: bearer sim."));
    stage.run_by(&ann, &format!("status --own-credentials {kubectl}"), Some(&conf)).await?;
    ensure!(impostor.take().contains("Bearer ann"));
    Ok(())
}
