//! The way to the manager's secure port, and as whom we come: with a short-lived token of an account that may see the manager's pages and
//! nothing else, or with a token from a file, or, if the person says so, with what the kubeconfig has. The leader is known by its certificate,
//! whose fingerprint is on the Lease. A page that is open on this machine, as the playground's, is asked as nobody.
//!
//! The API server's own proxy to pods is no such way: it shows the manager no credentials at all, neither the person's, which it keeps
//! to itself, nor its own.

mod forward;
mod pinned;
mod viewer;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use bowline_kube::client::load_as_kubectl;
use bowline_manager::rbac::VIEWER;
use bowline_manager::status::serve::JSON;
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::Value;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use self::forward::{Forward, Goal};
use self::viewer::Viewer;
use crate::ending::Ending;
use crate::session::refusal::in_full;
use crate::session::{Access, Cluster, Session};
use crate::status::leader;
use crate::status::rails::{leading, port_of};

/// Not more is read of an answer: an overview with all pages of 5,000 Nodes has less.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Why a leader is not believed.
const NO_CERTIFICATE: &str = "the Lease names no serving certificate (annotation bowline.dev/serving-certificate-sha256), so nobody can say whether it is the leader that answers: the manager is an older one or another program, or serves nothing. Give its address with --url and --certificate-authority, or take any certificate with --insecure-skip-tls-verify";

/// By which way a manager is asked.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "The way to the manager")]
#[group(id = "way")]
pub struct Arguments {
    /// The secure port of a manager, as https://HOST:10258, or a page that is open on this machine, as http://127.0.0.1:PORT; without it the leader is found, and kubectl port-forward makes the way to it
    #[arg(long, value_name = "URL")]
    pub url: Option<Uri>,
    /// The authority that signed the certificate at --url; without it that of the kubeconfig
    #[arg(long, value_name = "FILE", requires = "url")]
    pub certificate_authority: Option<PathBuf>,
    /// Take any certificate, in place of the one that the leader names on its Lease or that an authority signed: whoever answers sees the token
    #[arg(long, conflicts_with = "certificate_authority")]
    pub insecure_skip_tls_verify: bool,
    /// The ServiceAccount in the namespace of the manager of which a token for ten minutes is shown to it
    #[arg(long, value_name = "NAME", default_value = VIEWER)]
    pub viewer_account: String,
    /// A file with a bearer token for the manager, in place of one of the viewer's account
    #[arg(long, value_name = "FILE", conflicts_with = "own_credentials")]
    pub token_file: Option<PathBuf>,
    /// Show the manager the credentials of your kubeconfig, your own token among them, in place of one of the viewer's account
    #[arg(long, conflicts_with = "insecure_skip_tls_verify")]
    pub own_credentials: bool,
    /// The kubectl that makes the way to the leader
    #[arg(long, value_name = "PROGRAM", default_value = "kubectl")]
    pub kubectl: PathBuf,
}

/// A way to a manager, and a token for it that is read anew for each request: it may be replaced before it expires.
pub(crate) struct Way {
    to: Destination,
    as_whom: Credentials,
}

/// As whom a manager is asked.
enum Credentials {
    /// As the viewer's account.
    Viewer(Box<Viewer>),
    /// As the owner of the token in this file.
    TokenFile(PathBuf),
    /// As the configuration of the client has it: the person, or nobody.
    OfClient,
}

/// Where a way goes.
enum Destination {
    /// To the one at an address that was given.
    Given(Client, Uri),
    /// To the one that leads.
    Leader(Box<ToLeader>),
}

/// The way to whoever leads, which is made anew when another one does.
struct ToLeader {
    access: Access,
    kubectl: PathBuf,
    config: Config,
    open: Mutex<Option<Open>>,
}

/// A way that is there.
struct Open {
    forward: Forward,
    client: Client,
}

impl Way {
    /// The way that the arguments ask for. Nobody is asked yet.
    ///
    /// # Errors
    ///
    /// [`Ending`] if the credentials or the address are of no use.
    pub(crate) fn of(arguments: &Arguments, access: &Access) -> Result<Self, Ending> {
        let config = load_as_kubectl(access.kubeconfig.as_deref(), access.context.as_deref());
        let mut config = config.map_err(Ending::not_looked)?;
        // The name of the API server is not the manager's. What comes is handed on as it comes.
        (config.tls_server_name, config.default_retry, config.disable_compression) = (None, false, true);
        let is_plain = arguments.url.as_ref().is_some_and(|url| url.scheme_str() == Some("http"));
        let as_whom = match &arguments.token_file {
            Some(file) => Credentials::TokenFile(file.clone()),
            None if arguments.own_credentials || is_plain => Credentials::OfClient,
            None => {
                let cluster = Cluster::connect(access)?;
                let viewer = Viewer::new(cluster, &access.manager_namespace, &arguments.viewer_account);
                Credentials::Viewer(Box::new(viewer))
            }
        };
        if !matches!(as_whom, Credentials::OfClient) {
            config.auth_info = AuthInfo::default();
        }
        let to = match &arguments.url {
            Some(url) => Destination::given(arguments, config, url)?,
            None => {
                config.proxy_url = None;
                // Else only the certificate that the Lease names is taken.
                config.accept_invalid_certs = arguments.insecure_skip_tls_verify;
                let (access, kubectl) = (access.clone(), arguments.kubectl.clone());
                Destination::Leader(Box::new(ToLeader { access, kubectl, config, open: Mutex::new(None) }))
            }
        };
        Ok(Self { to, as_whom })
    }

    /// What the manager tells programs of itself.
    ///
    /// # Errors
    ///
    /// Why it is not known, and what to do.
    pub(crate) async fn overview(&self) -> Result<Value, String> {
        let text = self.text(JSON).await?;
        serde_json::from_str(&text).map_err(|error| format!("the overview of the manager: {error}"))
    }

    /// What the manager says at a path.
    ///
    /// # Errors
    ///
    /// Why it does not, and what to do.
    pub(crate) async fn text(&self, path: &str) -> Result<String, String> {
        let answer = self.ask(path, false).await?;
        if let Some(why) = refusal(answer.status()) {
            return Err(format!("{} answers {}: {why}", self.whose().await, answer.status().as_u16()));
        }
        let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await;
        let body = body.map_err(|error| format!("{path} of the manager: {error}"))?.to_bytes();
        String::from_utf8(body.into()).map_err(|error| format!("{path} of the manager: {error}"))
    }

    /// Makes sure that there is a page and that we may see it. Answers whose it is.
    ///
    /// # Errors
    ///
    /// [`Ending`] with what to do about it.
    pub(crate) async fn try_it(&self) -> Result<String, Ending> {
        let answer = self.ask(JSON, true).await.map_err(Ending::not_looked)?;
        let whose = self.whose().await;
        match refusal(answer.status()) {
            None => Ok(whose),
            Some(why) => {
                Err(Ending::not_looked(format!("{whose} answers {}: {why}", answer.status().as_u16())))
            }
        }
    }

    async fn whose(&self) -> String {
        match &self.to {
            Destination::Given(_client, url) => url.to_string(),
            Destination::Leader(way) => way.whose().await,
        }
    }

    /// Asks for a path. `anew` looks who leads now.
    ///
    /// # Errors
    ///
    /// Why there is no answer, and what to do.
    pub(crate) async fn ask(&self, path: &str, anew: bool) -> Result<Response<Body>, String> {
        let client = match &self.to {
            Destination::Given(client, _url) => client.clone(),
            Destination::Leader(way) => way.client(anew).await?,
        };
        let mut request = Request::get(path).body(Body::empty()).map_err(|error| error.to_string())?;
        let bearer = match &self.as_whom {
            Credentials::Viewer(viewer) => Some(viewer.bearer().await?),
            Credentials::TokenFile(file) => Some(bearer(file).await?),
            Credentials::OfClient => None,
        };
        request.headers_mut().extend(bearer.map(|bearer| (header::AUTHORIZATION, bearer)));
        let answer = client.send(request).await;
        if let (Err(_), Destination::Leader(way)) = (&answer, &self.to) {
            way.close().await;
        }
        answer.map_err(|error| format!("the manager does not answer: {}", in_full(&error)))
    }
}

/// The token in a file, as a manager is shown it.
async fn bearer(file: &Path) -> Result<HeaderValue, String> {
    let failed = |why: String| format!("--token-file {}: {why}", file.display());
    let text = tokio::fs::read_to_string(file).await.map(Zeroizing::new);
    let text = text.map_err(|error| failed(error.to_string()))?;
    header_of(&text).ok_or_else(|| failed("that is no token".to_owned()))
}

/// A token as a header; none if it cannot be one.
fn header_of(token: &str) -> Option<HeaderValue> {
    let token = Some(token.trim()).filter(|token| !token.is_empty())?;
    let shown = Zeroizing::new(format!("Bearer {token}"));
    let mut value = HeaderValue::from_str(&shown).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Destination {
    fn given(arguments: &Arguments, mut config: Config, url: &Uri) -> Result<Self, Ending> {
        match url.scheme_str() {
            Some("https") if url.host().is_some() => {}
            // What is open needs no credentials, and what is not encrypted gets none.
            Some("http") if is_loopback(url) && arguments.token_file.is_none() => {
                (config.auth_info, config.proxy_url) = (AuthInfo::default(), None);
            }
            _ => {
                let why = "wanted https://HOST:PORT, for credentials are sent there, or http:// on this machine, without a token";
                return Err(Ending::not_looked(format!("--url {url}: {why}")));
            }
        }
        let mut parts = url.clone().into_parts();
        parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
        config.cluster_url = Uri::from_parts(parts).map_err(Ending::not_looked)?;
        config.accept_invalid_certs = arguments.insecure_skip_tls_verify;
        if let Some(file) = &arguments.certificate_authority {
            (config.root_cert, config.root_cert_file) = (None, Some(file.clone()));
        }
        let client = Client::try_from(config).map_err(Ending::not_looked)?;
        Ok(Self::Given(client, url.clone()))
    }
}

fn is_loopback(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What an answer other than the page means.
fn refusal(status: StatusCode) -> Option<&'static str> {
    match status {
        StatusCode::OK => None,
        StatusCode::UNAUTHORIZED => Some(
            "it does not know these credentials. It knows client certificates of the cluster's authority, and tokens that the API server knows; give one with --token-file",
        ),
        StatusCode::FORBIDDEN => Some(
            "these credentials may not see the page: it takes the right to get the paths /bowline, /bowline/live and /bowline.json (or /metrics), as deploy/rbac-viewer.yaml gives it to the viewer's account",
        ),
        StatusCode::NOT_FOUND => Some("it has no such page: it is another program, or an older one"),
        _ => Some("that is no page; its log says why"),
    }
}

impl ToLeader {
    /// A client for the way that is there, or for a new one.
    async fn client(&self, anew: bool) -> Result<Client, String> {
        let mut open = self.open.lock().await;
        if let Some(Open { forward, client }) = open.as_mut()
            && forward.is_open()
            && !(anew && self.goal().await.is_ok_and(|goal| goal != forward.goal))
        {
            return Ok(client.clone());
        }
        *open = None;
        let forward = Forward::open(self.goal().await.map_err(|ending| ending.why)?).await?;
        let mut config = self.config.clone();
        let url = format!("https://127.0.0.1:{}/", forward.port);
        config.cluster_url = url.parse().map_err(|error| format!("{url}: {error}"))?;
        let client = match (&forward.goal.certificate, config.accept_invalid_certs) {
            (_, true) => Client::try_from(config),
            (Some(fingerprint), false) => pinned::client(&config, fingerprint),
            (None, false) => return Err(NO_CERTIFICATE.to_owned()),
        };
        let client = client.map_err(|error| in_full(&error))?;
        *open = Some(Open { forward, client: client.clone() });
        Ok(client)
    }

    /// Nobody answers on it any more.
    async fn close(&self) {
        *self.open.lock().await = None;
    }

    async fn whose(&self) -> String {
        let open = self.open.lock().await;
        let goal = open.as_ref().map(|open| &open.forward.goal);
        goal.map(|goal| format!("pod {}/{}, which leads", goal.namespace, goal.pod)).unwrap_or_default()
    }

    /// The port of the pod that leads.
    async fn goal(&self) -> Result<Goal, Ending> {
        let session = Session::open(&self.access).await?;
        let leader = leader::read(&session).await?;
        if let Some(why) = &leader.problem {
            return Err(Ending::not_looked(format!("nobody leads: {why}; see kubectl bowline doctor")));
        }
        let Some(manager) = leading(&session.managers, &leader) else {
            return Err(Ending::not_looked(format!(
                "{} leads, and no pod of namespace {} is it: give its address with --url https://HOST:10258",
                leader.holder.as_deref().unwrap_or("nobody"),
                self.access.manager_namespace
            )));
        };
        Ok(Goal {
            kubectl: self.kubectl.clone(),
            kubeconfig: self.access.kubeconfig.clone(),
            context: self.access.context.clone(),
            namespace: manager.namespace.clone(),
            pod: manager.pod.clone(),
            port: port_of(manager),
            certificate: leader.certificate.clone(),
        })
    }
}
