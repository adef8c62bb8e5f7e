//! What only a person can do, as exact steps for how this cluster was made; and whether it was seen to be done.

use super::decision::Case;
use super::distribution::{Made, made};
use super::observed::{KubeletEvidence, NodeFacts, StaticPodFacts, WorkloadKind};
use super::writers::{Who, Writer, in_tree_is_possible, others, provider_inside};
use crate::api::{AdminStep, Form};
use crate::flags::{Action, Change, Component, steps, value_of};
use crate::render::{MANIFESTS, NODE_FOLDER};

/// The most nodes that are listed one by one.
const MOST: usize = 50;

/// What has to be done before the previous writer is gone, if a person has to do it.
pub(super) fn to_relinquish(case: &Case<'_>) -> Vec<AdminStep> {
    let writers = others(case);
    let mut all = Vec::new();
    let snapshot = case.status.migration.as_ref().and_then(|migration| migration.snapshot.as_ref());
    let was_inside = snapshot.is_some_and(|snapshot| !snapshot.in_tree.is_empty());
    let is_inside = |writer: &Writer<'_>| !matches!(writer.who, Who::Manager(_));
    if was_inside || writers.iter().any(is_inside) {
        let done = !writers.iter().any(is_inside);
        all.extend(component_steps(case, Component::ControllerManager, &Change::to_external(), done));
        all.extend(per_control_plane(case, &writers));
    }
    for writer in &writers {
        if let Who::Manager(manager) = writer.who
            && manager.workload.kind == WorkloadKind::Pod
        {
            all.push(static_pod(case, &manager.workload.name));
        }
    }
    all
}

fn static_pod(case: &Case<'_>, name: &str) -> AdminStep {
    AdminStep {
        on: "the control-plane nodes".to_owned(),
        what: format!(
            "take the manifest of static pod {name} of the previous manager away; keep it outside that directory, for the way back"
        ),
        commands: vec![format!(
            "mv /etc/kubernetes/manifests/*cloud-controller-manager*.yaml /root/  # then: kubectl -n {} get pod {name}",
            case.spec.namespace
        )],
        done: false,
    }
}

/// Where the static pods of our manager have to be put, or put anew, if that is what it runs as; and from where taken away, if not.
pub(super) fn static_pods(case: &Case<'_>) -> Vec<AdminStep> {
    if case.spec.form != Form::StaticPod {
        let left = case.observed.static_pods.iter().filter(|one| one.pod.may_run());
        return left.take(MOST).map(to_take_away).collect();
    }
    let nodes = case.observed.nodes.iter().filter(|node| node.control_plane).take(MOST);
    let mut all: Vec<AdminStep> = nodes.map(|node| to_place(case, &node.name)).collect();
    // Before the first node has registered, or where the control plane is none of the cluster's nodes.
    if all.is_empty() && case.observed.static_pods.is_empty() {
        all.push(to_place(case, "CONTROL-PLANE-NODE"));
    }
    if all.iter().any(|step| !step.done) {
        all.insert(0, to_render(case));
    }
    all
}

fn to_render(case: &Case<'_>) -> AdminStep {
    let name = case.name;
    let is_inline = case.spec.cloud_config.as_ref().is_none_or(|config| config.inline.is_some());
    let config = if is_inline { "" } else { " --cloud-config cloud.conf" };
    AdminStep {
        on: "kubectl".to_owned(),
        what: "write the manifest of the static pod, and the files that it reads, into a folder".to_owned(),
        commands: vec![
            format!("kubectl get cloudcontrollermanager {name} -o yaml > {name}.yaml"),
            format!("bowline operator render --config {name}.yaml{config} --out {name}"),
        ],
        done: false,
    }
}

fn to_place(case: &Case<'_>, node: &str) -> AdminStep {
    let observed = case.observed;
    let there = observed.static_pods.iter().find(|one| one.pod.node.as_deref() == Some(node));
    let what = match there {
        None => "put the files, and then the manifest, where the kubelet looks for them".to_owned(),
        Some(one) if one.version != observed.wanted_version => {
            format!(
                "its static pod is of version {}, wanted is {}: put the manifest there anew",
                one.version, observed.wanted_version
            )
        }
        Some(one) if one.pod.config != observed.wanted_config => {
            "its static pod has another configuration: put cloud.conf and the manifest there anew".to_owned()
        }
        Some(one) if !one.pod.ready => format!("its static pod {} is not ready; see its log", one.pod.name),
        Some(_) => "its static pod runs as it should".to_owned(),
    };
    let done = there.is_some_and(|one| {
        one.version == observed.wanted_version && one.pod.config == observed.wanted_config && one.pod.ready
    });
    let (name, folder) = (case.name, NODE_FOLDER);
    let commands = if done {
        Vec::new()
    } else {
        vec![
            format!("scp -r {name}/{folder}/etc {node}:/"),
            format!("scp {name}/{folder}/*.yaml {node}:{MANIFESTS}/"),
        ]
    };
    AdminStep { on: format!("node {node}"), what, commands, done }
}

fn to_take_away(one: &StaticPodFacts) -> AdminStep {
    let node = one.pod.node.as_deref().unwrap_or_default();
    // A kubelet adds its node's name to that of the pod.
    let file = one.pod.name.strip_suffix(&format!("-{node}")).unwrap_or(&one.pod.name);
    AdminStep {
        on: format!("node {node}"),
        what: format!(
            "take the manifest of static pod {} away: our manager runs otherwise now",
            one.pod.name
        ),
        commands: vec![format!("rm {MANIFESTS}/{file}.yaml")],
        done: false,
    }
}

fn per_control_plane(case: &Case<'_>, writers: &[Writer<'_>]) -> Vec<AdminStep> {
    let nodes = case.observed.nodes.iter().filter(|node| node.control_plane).take(MOST);
    nodes
        .map(|node| {
            let of_node = writers.iter().find(|writer| match writer.who {
                Who::InTree(pod) => pod.node == node.name,
                Who::Inside(inside) => inside.name == node.name,
                Who::Unseen(name) => name == node.name,
                Who::InsideLease | Who::Manager(_) => false,
            });
            AdminStep {
                on: format!("node {}", node.name),
                what: of_node.map_or_else(
                    || "nothing writes to the cloud here any more".to_owned(),
                    |writer| writer.seen.clone(),
                ),
                commands: Vec::new(),
                done: of_node.is_none(),
            }
        })
        .collect()
}

/// What has to be done so that all kubelets are external.
pub(super) fn to_external_kubelets(case: &Case<'_>) -> Vec<AdminStep> {
    let open = not_external(case);
    if open.is_empty() {
        return Vec::new();
    }
    let mut all = component_steps(case, Component::Kubelet, &Change::to_external(), false);
    let unclear: Vec<&str> = open
        .iter()
        .filter(|(_, evidence)| *evidence == KubeletEvidence::Unclear)
        .map(|(node, _)| node.name.as_str())
        .collect();
    if !unclear.is_empty() {
        all.push(AdminStep {
            on: "kubectl".to_owned(),
            what: "what these kubelets were started with can be seen nowhere: when they run with --cloud-provider=external, say so".to_owned(),
            commands: unclear.iter().take(MOST).map(|name| format!("kubectl annotate node {name} {}=external", NodeFacts::DECLARED)).collect(),
            done: false,
        });
    }
    all.extend(open.iter().take(MOST).map(|(node, evidence)| AdminStep {
        on: format!("node {}", node.name),
        what: match evidence {
            KubeletEvidence::Own => "its kubelet writes addresses itself".to_owned(),
            _ => "nobody can see what its kubelet was started with".to_owned(),
        },
        commands: Vec::new(),
        done: false,
    }));
    all
}

/// Nodes of ours whose kubelets are not known to be external.
pub(super) fn not_external<'a>(case: &Case<'a>) -> Vec<(&'a NodeFacts, KubeletEvidence)> {
    let in_tree = in_tree_is_possible(case);
    let nodes = case.observed.nodes.iter().filter(|node| is_claimed(case, node));
    nodes
        .map(|node| (node, node.kubelet(in_tree)))
        .filter(|(_, evidence)| *evidence != KubeletEvidence::External)
        .collect()
}

/// Nodes of this cloud, and those that nobody has named yet. Others are left alone.
pub(super) fn is_claimed(case: &Case<'_>, node: &NodeFacts) -> bool {
    use crate::platform::{Platform, detect};
    let wanted = Platform::from(case.spec.platform);
    node.provider_id.is_none() || detect([node.provider_id.as_deref()]).platforms.contains_key(&wanted)
}

/// What has to be done on the way back, for what the operator cannot do.
pub(super) fn to_go_back(case: &Case<'_>, component: Component) -> Vec<AdminStep> {
    let inside = crate::platform::Platform::from(case.spec.platform).in_tree_name();
    let is_embedded = super::distribution::has_manager_inside(made(case.observed));
    let change = match inside {
        Some(name) if !is_embedded => Change::Set(name.to_owned()),
        _ => Change::Remove,
    };
    component_steps(case, component, &change, false)
}

/// What has to be taken away before kube-apiserver of 1.33 starts. Advice: nothing waits for it.
pub(super) fn api_server_flag(case: &Case<'_>) -> Vec<AdminStep> {
    let has_flag = |pod: &crate::migration::MirrorPod| {
        pod.component == Component::ApiServer
            && value_of(&pod.arguments, "cloud-provider").is_some_and(|value| !value.is_empty())
    };
    if !case.observed.control_plane.iter().any(has_flag) {
        return Vec::new();
    }
    component_steps(case, Component::ApiServer, &Change::Remove, false)
}

/// What has to be done with nodes that the manager inside has named: an ID can never be changed.
pub(super) fn to_replace_nodes(case: &Case<'_>) -> Vec<AdminStep> {
    let named = case.observed.nodes.iter().filter(|node| matches!(node.scheme(), Some("k3s" | "rke2")));
    named
        .take(MOST)
        .map(|node| AdminStep {
            on: format!("node {}", node.name),
            what: format!(
                "its provider ID {} can never be changed: replace it, one node after the other",
                node.provider_id.as_deref().unwrap_or_default()
            ),
            commands: vec![
                format!("kubectl drain {} --ignore-daemonsets --delete-emptydir-data", node.name),
                format!("kubectl delete node {}", node.name),
            ],
            done: false,
        })
        .collect()
}

/// The steps of a component, as this cluster was made.
fn component_steps(case: &Case<'_>, component: Component, change: &Change, done: bool) -> Vec<AdminStep> {
    let distribution = match made(case.observed) {
        Made::By(distribution) => distribution,
        Made::OpenShift => return vec![by_openshift(component, done)],
        Made::Unknown => return vec![by_hand(component, change, done)],
    };
    let found = steps(distribution, component, change, case.observed.cluster.minor);
    found.into_iter().map(|step| admin_step(&step, done)).collect()
}

fn admin_step(step: &crate::flags::Step, done: bool) -> AdminStep {
    let (what, text) = match &step.action {
        Action::Command(command) => (format!("run this: {}", step.why), command),
        Action::Edit { target, change } => (format!("edit {target}: {}", step.why), change),
    };
    AdminStep {
        on: step.place.to_owned(),
        what,
        commands: text.lines().map(ToOwned::to_owned).collect(),
        done,
    }
}

fn by_openshift(component: Component, done: bool) -> AdminStep {
    let operator = match component {
        Component::Kubelet => "machine-config-operator",
        Component::ControllerManager => "cluster-kube-controller-manager-operator",
        Component::ApiServer => "cluster-kube-apiserver-operator",
    };
    AdminStep {
        on: "OpenShift".to_owned(),
        what: format!(
            "{operator} sets the flags of {component} itself; wait for it, and look why if it does not"
        ),
        commands: vec!["oc get clusteroperators".to_owned(), "oc get machineconfigpools".to_owned()],
        done,
    }
}

fn by_hand(component: Component, change: &Change, done: bool) -> AdminStep {
    let flag = match change {
        Change::Set(value) => format!("--cloud-provider={value}"),
        Change::Remove => "no --cloud-provider and no --cloud-config".to_owned(),
    };
    AdminStep {
        on: "each node where it runs, one after the other".to_owned(),
        what: format!(
            "start {component} with {flag}. How this cluster was made is not known: where its flags are, only you can say"
        ),
        commands: Vec::new(),
        done,
    }
}

/// Whether kube-controller-manager of every control-plane node has the provider inside again.
pub(super) fn is_inside_again(case: &Case<'_>) -> bool {
    let mut nodes = case.observed.nodes.iter().filter(|node| node.control_plane).peekable();
    let has = |node: &NodeFacts| {
        case.observed.control_plane.iter().any(|pod| pod.node == node.name && provider_inside(pod).is_some())
    };
    nodes.peek().is_some() && nodes.all(has)
}
