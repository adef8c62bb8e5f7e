//! Collects the documents of a bundle. What cannot be had is noted, and the rest is collected all the same.

use serde::Serialize;
use serde_json::{Value, json};

use super::Document;
use super::scrub;
use crate::session::Session;
use crate::session::cloud::settings;
use crate::way::Way;
use crate::{doctor, drift, plan, sight, status, way};

/// So many lines of a manager's log.
const LOG_LINES: usize = 2000;

/// What was collected.
pub(super) struct Gathered {
    pub(super) documents: Vec<Document>,
    pub(super) missing: Vec<String>,
    /// Values that must not be in any document.
    pub(super) secrets: Vec<String>,
}

impl Gathered {
    fn add(&mut self, name: impl Into<String>, text: String) {
        self.documents.push(Document { name: name.into(), text });
    }

    fn add_value(&mut self, name: &str, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.add(name, text),
            Err(error) => self.missing.push(format!("{name}: {error}")),
        }
    }
}

pub(super) async fn gather(session: &Session, way: &way::Arguments) -> Gathered {
    let mut bundle = Gathered { documents: Vec::new(), missing: Vec::new(), secrets: Vec::new() };
    let about = json!({
        "bowline": env!("CARGO_PKG_VERSION"), "madeAt": session.now.to_string(), "clusterName": *session.cluster_name,
        "clusterUid": session.cluster_uid, "notes": session.notes,
    });
    bundle.add_value("about.json", &about);
    objects(session, &mut bundle).await;
    wishes(session, &mut bundle).await;
    configuration(session, &mut bundle).await;
    logs(session, &mut bundle).await;
    leader(session, way, &mut bundle).await;
    answers(session, way, &mut bundle).await;
    bundle
}

/// Objects of the cluster, scrubbed.
async fn objects(session: &Session, bundle: &mut Gathered) {
    let namespace = &session.access.manager_namespace;
    let lists = [
        ("cluster/version.json", "/version".to_owned()),
        ("cluster/nodes.json", "/api/v1/nodes".to_owned()),
        ("cluster/services.json", "/api/v1/services".to_owned()),
        ("cluster/events-of-nodes.json", "/api/v1/namespaces/default/events".to_owned()),
        (
            "cluster/events-of-services.json",
            "/api/v1/events?fieldSelector=involvedObject.kind%3DService".to_owned(),
        ),
        ("manager/pods.json", format!("/api/v1/namespaces/{namespace}/pods")),
        ("manager/leases.json", format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")),
        ("manager/events.json", format!("/api/v1/namespaces/{namespace}/events")),
    ];
    for (name, path) in lists {
        match session.cluster.raw(&path).await {
            Ok(list) => bundle.add_value(name, &scrubbed(list)),
            Err(why) => bundle.missing.push(format!("{name}: {why}")),
        }
    }
}

/// What people asked the operator for, where there is one.
async fn wishes(session: &Session, bundle: &mut Gathered) {
    match session.cluster.raw_if_served("bowline.dev/v1alpha1", "cloudcontrollermanagers").await {
        Ok(Some(list)) => bundle.add_value("manager/cloudcontrollermanagers.json", &scrubbed(list)),
        Ok(None) => {}
        Err(why) => bundle.missing.push(format!("manager/cloudcontrollermanagers.json: {why}")),
    }
}

fn scrubbed(list: Value) -> Value {
    match list {
        Value::Object(mut fields) => match fields.remove("items") {
            Some(Value::Array(items)) => items.into_iter().map(scrub::object).collect(),
            Some(other) => scrub::object(other),
            None => scrub::object(Value::Object(fields)),
        },
        other => scrub::object(other),
    }
}

/// The cloud.conf, of which only what cannot be secret is kept.
async fn configuration(session: &Session, bundle: &mut Gathered) {
    let found = match settings(session).await {
        Ok(found) => found,
        Err(ending) => return bundle.missing.push(format!("cloud.conf: {ending}")),
    };
    let text = match (&found.config.path, &found.config.text) {
        (Some(path), _) => std::fs::read_to_string(path).map_err(|error| error.to_string()),
        (None, Some(text)) => Ok(text.clone()),
        (None, None) => Err("there is none".to_owned()),
    };
    match text {
        Ok(text) => {
            let (shown, secrets) = scrub::cloud_conf(&text);
            bundle.secrets.extend(secrets);
            bundle.add("manager/cloud.conf", format!("# from {}\n{shown}", found.from));
        }
        Err(why) => bundle.missing.push(format!("cloud.conf: {why}")),
    }
}

async fn logs(session: &Session, bundle: &mut Gathered) {
    for manager in &session.managers {
        let (namespace, pod) = (&manager.namespace, &manager.pod);
        match session.cluster.log(namespace, pod, LOG_LINES, false).await {
            Ok(log) => bundle.add(format!("manager/log-{pod}.txt"), log),
            Err(why) => bundle.missing.push(format!("the log of {namespace}/{pod}: {why}")),
        }
        if manager.restarts == 0 {
            continue;
        }
        match session.cluster.log(namespace, pod, LOG_LINES, true).await {
            Ok(log) => bundle.add(format!("manager/log-{pod}-before.txt"), log),
            Err(why) => {
                bundle.missing.push(format!("the log of {namespace}/{pod} before its restart: {why}"));
            }
        }
    }
}

/// What the leader tells of itself.
async fn leader(session: &Session, way: &way::Arguments, bundle: &mut Gathered) {
    let way = match Way::of(way, &session.access) {
        Ok(way) => way,
        Err(ending) => return bundle.missing.push(format!("the leader: {ending}")),
    };
    match way.overview().await {
        Ok(overview) => bundle.add_value("manager/overview.json", &scrub::object(overview)),
        // Then there is no way for the other either.
        Err(why) => return bundle.missing.push(format!("manager/overview.json: {why}")),
    }
    match way.text("/metrics").await {
        Ok(scrape) => bundle.add("manager/metrics.txt", scrape),
        Err(why) => bundle.missing.push(format!("manager/metrics.txt: {why}")),
    }
}

/// What the other commands say.
async fn answers(session: &Session, way: &way::Arguments, bundle: &mut Gathered) {
    match status::look(session, way).await {
        Ok(status) => bundle.add_value("status.json", &status),
        Err(ending) => bundle.missing.push(format!("status: {ending}")),
    }
    match doctor::look(session, way).await {
        Ok(diagnosis) => bundle.add_value("doctor.json", &diagnosis),
        Err(ending) => bundle.missing.push(format!("doctor: {ending}")),
    }
    let cloud = match session.cloud().await {
        Ok(cloud) => cloud,
        Err(ending) => return bundle.missing.push(format!("the cloud: {ending}")),
    };
    let sight = match sight::Sight::read(session).await {
        Ok(sight) => sight,
        Err(ending) => return bundle.missing.push(format!("the cluster: {ending}")),
    };
    match sight.previews(session, &cloud, &sight.services).await {
        Ok(previews) => {
            let pictures: Vec<_> = previews.iter().filter_map(|one| one.picture.clone()).collect();
            bundle.add_value("cloud/load-balancers.json", &pictures);
            let plans = plan::of(session, &cloud, previews);
            bundle.add_value("plan.json", &plans);
        }
        Err(ending) => bundle.missing.push(format!("plan: {ending}")),
    }
    match drift::look(session, &cloud, &sight).await {
        Ok(drift) => bundle.add_value("drift.json", &drift),
        Err(ending) => bundle.missing.push(format!("drift: {ending}")),
    }
}
