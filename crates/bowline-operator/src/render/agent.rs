//! Azure's agent: a program on each node that does there what the manager does elsewhere.

use k8s_openapi::api::core::v1::{
    Container, EnvVar, EnvVarSource, ObjectFieldSelector, PodSpec, PodTemplateSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::error::RenderError;
use super::facts::ClusterFacts;
use super::mode::ManagerMode;
use super::names::{Names, Part};
use super::object::Object;
use super::pod::{api_server, base, hardened, https_port, proxy, requests, some};
use super::program::{image, node_manager_image};
use super::{placement, rbac, workload};
use crate::api::CloudControllerManagerSpec;

/// The agent's port.
pub(super) const PORT: i32 = 10263;

/// The agent with its rights; none while another writer looks after nodes.
pub(super) fn objects(
    spec: &CloudControllerManagerSpec,
    name: &str,
    mode: ManagerMode,
    facts: &ClusterFacts,
) -> Result<Vec<Object>, RenderError> {
    if !mode.writes_nodes() {
        return Ok(Vec::new());
    }
    let names = Names::new(spec, name, facts.naming, Part::NodeManager);
    let mut all = vec![rbac::account(&names)?];
    let subjects = rbac::subjects(&names, false);
    all.extend(rbac::objects(&names, &spec.lease_namespace, rbac::node_manager(), &subjects)?);
    let template = template(spec, facts, &names)?;
    all.push(Object::namespaced(&workload::daemon_set(
        &names,
        IntOrString::String("10%".to_owned()),
        template,
    ))?);
    Ok(all)
}

fn template(
    spec: &CloudControllerManagerSpec,
    facts: &ClusterFacts,
    names: &Names<'_>,
) -> Result<PodTemplateSpec, RenderError> {
    let mut env = api_server(spec.api_server.as_ref().or(facts.api_server.as_ref()))?;
    env.push(node_name());
    let container = Container {
        name: "cloud-node-manager".to_owned(),
        image: Some(node_manager_image(&image(spec, facts)?)?),
        command: Some(vec!["cloud-node-manager".to_owned()]),
        args: Some(vec!["--node-name=$(NODE_NAME)".to_owned(), "--wait-routes=false".to_owned()]),
        ports: Some(vec![https_port(PORT)]),
        env: some(env),
        ..hardened(requests("50m", "50Mi"))
    };
    let pod = PodSpec {
        node_selector: Some([("kubernetes.io/os".to_owned(), "linux".to_owned())].into()),
        priority_class_name: Some("system-node-critical".to_owned()),
        service_account_name: Some(names.workload()),
        ..base(container, placement::agent_tolerations())
    };
    let metadata = ObjectMeta { labels: Some(names.labels()), ..ObjectMeta::default() };
    Ok(PodTemplateSpec { metadata: Some(metadata), spec: Some(proxy(spec).applied_to(&pod)) })
}

/// The name of the node that the pod runs on.
pub(super) fn node_name() -> EnvVar {
    let field = ObjectFieldSelector { field_path: "spec.nodeName".to_owned(), api_version: None };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    EnvVar { name: "NODE_NAME".to_owned(), value: None, value_from: Some(source) }
}
