//! The rows of the table, in the order of values.yaml.

use bowline_openstack::config::keys::Section;

use super::Occm::{Differs, New, Same};
use super::{Kind, Occm, Row};

/// What the groups are for, by path.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    ("image", "The image."),
    ("cluster", "The cluster."),
    (
        "cloudConfig",
        "What is written to cloud.conf, by section and key; every key: docs/reference/cloud-conf.md. With secret.create.",
    ),
    ("secret", "The Secret with cloud.conf."),
    ("credentials", "A Secret with a clouds.yaml, for `use-clouds = true` in cloud.conf."),
    ("trustedCa", "Certificates that are trusted besides those of the image."),
    ("leaderElection", "The Lease of the managers: the one that a previous manager used, so that two never write."),
    ("proxy", "The proxy between the manager and the cloud."),
    ("serviceAccount", "The identity of the manager."),
    ("rbac", "The rights of the manager: generated, and each of them proved to be needed."),
    ("podDisruptionBudget", "Keeps one of several pods of a Deployment."),
    ("serviceMonitor", "A ServiceMonitor of the Prometheus operator. Prometheus needs the right to get /metrics."),
    ("podMonitor", "A PodMonitor in its place."),
    ("prometheusRule", "The alerts of deploy/monitoring/alerts.yaml as a PrometheusRule."),
    ("dashboard", "The dashboard of deploy/monitoring/dashboard.json in a ConfigMap, as Grafana's sidecar reads it."),
    ("admissionPolicy", "A ValidatingAdmissionPolicy that refuses annotations nobody could use: docs/guides/admission.md."),
];

const fn row(path: &'static str, kind: Kind, default: &'static str, occm: Occm, doc: &'static str) -> Row {
    Row { path, kind, default, doc, occm }
}

const NAME: Kind = Kind::Pattern("^$|^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$");

const TOLERATIONS: &str = r#"[
  {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists", "effect": "NoSchedule"},
  {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"},
  {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
  {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"},
  {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 120},
  {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 120},
  {"key": "CriticalAddonsOnly", "operator": "Exists"}
]"#;

const POD_SECURITY: &str = r#"{"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
  "seccompProfile": {"type": "RuntimeDefault"}}"#;

const SECURITY: &str = r#"{"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "privileged": false,
  "readOnlyRootFilesystem": true, "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}"#;

/// All values.
pub(crate) static ROWS: &[Row] = &[
    row("cluster.name", Kind::Pattern("^$|^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$"), r#""""#,
        Differs("required: its default was `kubernetes`, and two clusters of one project with one name are a danger. Say `kubernetes` if you never said anything"),
        "The name of this cluster in the cloud. Load balancers are named by it, and it can never change. Required."),
    row("kind", Kind::Choice(&["Deployment", "DaemonSet"]), r#""Deployment""#, New,
        "What the manager runs as. A DaemonSet has one pod on each control-plane node."),
    row("replicas", Kind::Count(1, 5), "2", New,
        "How many pods a Deployment has: one works, the others are hot standbys. There is never more than one on a node."),
    row("mode", Kind::Choice(&["Full", "Paused", "AdoptOnly", "Shadow"]), r#""Full""#, New,
        "What the manager may do. Paused: look and plan, write nothing. AdoptOnly: take over the load balancers that are there, but make, delete or exchange none. Shadow: run beside another manager with rights that can change nothing, and report what would be done."),
    row("image.repository", Kind::Text, r#""bowline""#, Differs("another image"), "The image without its tag. Build it with deploy/Containerfile."),
    row("image.tag", Kind::Text, r#""""#, Same, "Its tag; empty is the version of the chart's application."),
    row("image.digest", Kind::Pattern("^$|^sha256:[0-9a-f]{64}$"), r#""""#, New, "Its digest (`sha256:…`), which wins over the tag."),
    row("image.pullPolicy", Kind::Choice(&["Always", "IfNotPresent", "Never"]), r#""IfNotPresent""#, New, "When it is pulled."),
    row("imagePullSecrets", Kind::NamesOrReferences, "[]", Same, "Secrets for the registry, by name."),
    row("nameOverride", NAME, r#""""#, Same, "In place of the chart's name in names and labels."),
    row("fullnameOverride", NAME, r#""""#, New, "The name of all objects, in place of one made of release and chart."),
    row("cloudConfig.global", Kind::Section(Section::Global), "{}", Same, "`[Global]`: who we are to the cloud."),
    row("cloudConfig.networking", Kind::Section(Section::Networking), "{}", Same, "`[Networking]`: addresses of Nodes."),
    row("cloudConfig.loadBalancer", Kind::Section(Section::LoadBalancer), "{}", Same, "`[LoadBalancer]`."),
    row("cloudConfig.loadBalancerClass", Kind::Section(Section::LoadBalancerClass), "{}", New, "`[LoadBalancerClass \"name\"]`, by name."),
    row("cloudConfig.route", Kind::Section(Section::Route), "{}", Same, "`[Route]`."),
    row("cloudConfig.metadata", Kind::Section(Section::Metadata), "{}", Same, "`[Metadata]`."),
    row("cloudConfig.blockStorage", Kind::Section(Section::BlockStorage), "{}", Differs("accepted without effect: volumes are the work of the CSI driver. NOTES say so"), "`[BlockStorage]`, without effect."),
    row("cloudConf", Kind::Text, r#""""#, New, "The whole text of cloud.conf, in place of cloudConfig."),
    row("cloudConfigPath", Kind::Pattern("^/.+/[^/]+$"), r#""/etc/cloud-config/cloud.conf""#, Differs("was `/etc/config/cloud.conf` and could not be changed; matters only to what writes the file itself (`secret.enabled: false`)"), "Where cloud.conf is in the container."),
    row("secret.enabled", Kind::Flag, "true", Same, "Whether cloud.conf comes from a Secret. If not, something else puts it to cloudConfigPath: extraVolumes, or an agent."),
    row("secret.create", Kind::Flag, "true", Same, "Whether the chart makes the Secret, from cloudConfig or cloudConf. If not, it is there already."),
    row("secret.name", NAME, r#""cloud-config""#, Same, "Its name."),
    row("secret.key", Kind::Text, r#""cloud.conf""#, New, "The key with the text."),
    row("credentials.secretName", NAME, r#""""#, New, "The Secret's name. It is mounted at /etc/openstack/secret/clouds.yaml; name that path as `clouds-file`."),
    row("credentials.key", Kind::Text, r#""clouds.yaml""#, New, "The key with the text."),
    row("trustedCa.configMapName", NAME, r#""""#, New, "A ConfigMap of the release's namespace."),
    row("trustedCa.key", Kind::Text, r#""ca-bundle.crt""#, New, "The key with the certificates, in PEM."),
    row("enabledControllers", Kind::Texts, r#"["*"]"#, Differs("default is all; the old names (`cloud-node`, `service` …) are known"), "Which controllers run: `*` for all that are on by default, `name` for one more, `-name` for one less."),
    row("featureGates", Kind::FlagsByName, "{}", New, "`--feature-gates`."),
    row("controllerExtraArgs", Kind::TextsOrYaml, "[]", Differs("a list; text with a list in YAML is accepted as well. Flags that the chart sets itself are refused with the value to use (`--cluster-name` is `cluster.name`)"), "More flags of the manager: docs/reference/flags.md."),
    row("logVerbosityLevel", Kind::Count(0, 10), "0", Differs("default was 2; 0 tells what an operator needs"), "`--v`."),
    row("logFormat", Kind::Choice(&["text", "json"]), r#""text""#, New, "`--logging-format`."),
    row("leaderElection.namespace", NAME, r#""kube-system""#, New, "The namespace of the Lease."),
    row("leaderElection.name", NAME, r#""cloud-controller-manager""#, New, "The name of the Lease."),
    row("apiServer", Kind::Pattern(r"^$|^(\[[0-9a-fA-F:]+\]|[^:/]+):[0-9]+$"), r#""""#, New, "`host:port` of the API server, for pods that start before the cluster's network does; empty is what Kubernetes tells its pods."),
    row("proxy.httpProxy", Kind::Text, r#""""#, New, "`HTTP_PROXY`."),
    row("proxy.httpsProxy", Kind::Text, r#""""#, New, "`HTTPS_PROXY`."),
    row("proxy.noProxy", Kind::Text, r#""""#, New, "`NO_PROXY`."),
    row("extraEnv", Kind::Objects("EnvVar"), "[]", Same, "More variables of the container."),
    row("extraInitContainers", Kind::Objects("Container"), "[]", Same, "Containers that run before the manager."),
    row("extraVolumes", Kind::Objects("Volume"), "[]", Differs("default is empty: the manager needs neither flexvolumes nor the host's certificates"), "More volumes."),
    row("extraVolumeMounts", Kind::Objects("VolumeMount"), "[]", Differs("as extraVolumes"), "Where they are mounted."),
    row("hostNetwork", Kind::Flag, "true", Same, "Whether pods use the host's network. They should where the cluster's network waits for the manager. Without it the pods satisfy the restricted pod security standard."),
    row("dnsPolicy", Kind::Choice(&["Default", "ClusterFirst", "ClusterFirstWithHostNet", "None"]), r#""Default""#, Differs("default was ClusterFirst; the cluster's DNS may wait for the manager"), "Whose DNS pods ask."),
    row("hostAliases", Kind::Objects("HostAlias"), "[]", Same, "Names that DNS does not know, such as Keystone's."),
    row("securePort", Kind::Count(1, 65535), "10258", New, "The port of health and metrics, with TLS. In mode Shadow one that is not taken by the other manager."),
    row("nodeSelector", Kind::TextsByName, "{}", Differs("default is empty: an affinity to control-plane nodes does the same"), "Labels of the nodes that pods may run on, in place of the affinity to control-plane nodes."),
    row("affinity", Kind::Object("Affinity"), "{}", New, "In place of the affinity to control-plane nodes and never two on one."),
    row("topologySpreadConstraints", Kind::Objects("TopologySpreadConstraint"), "[]", New, "How pods are spread over zones, for instance."),
    row("tolerations", Kind::Objects("Toleration"), TOLERATIONS, Differs("default has more: nodes that are not ready or unreachable, and the old name of control-plane nodes"), "Taints that do not keep pods away: those of nodes that wait for this manager among them."),
    row("priorityClassName", Kind::Text, r#""system-cluster-critical""#, Differs("default was empty"), "The priority of the pods."),
    row("resources", Kind::Object("ResourceRequirements"), r#"{"requests": {"cpu": "50m", "memory": "32Mi"}}"#, Differs("default was empty"), "Requests without limits: a manager that is throttled or killed helps nobody."),
    row("livenessProbe", Kind::Object("Probe"), "{}", Differs("empty is a probe of /livez, not none"), "In place of a probe of /livez."),
    row("readinessProbe", Kind::Object("Probe"), "{}", Differs("empty is a probe of /readyz, not none"), "In place of a probe of /readyz."),
    row("startupProbe", Kind::Object("Probe"), "{}", New, "In place of a probe of /livez for five minutes."),
    row("podSecurityContext", Kind::Object("PodSecurityContext"), POD_SECURITY, Differs("default was `runAsUser: 1001`"), "The pod's user and group, and no system call that the runtime would not allow by itself."),
    row("securityContext", Kind::Object("SecurityContext"), SECURITY, New, "The container: no privilege, no capability, nothing to write to."),
    row("terminationGracePeriodSeconds", Kind::Count(1, 3600), "30", New, "How long a pod may take to end; it gives its Lease back first."),
    row("updateStrategy", Kind::Object("DeploymentStrategy or DaemonSetUpdateStrategy"), "{}", New, "In place of one pod after the other, none besides: its port would be taken."),
    row("podAnnotations", Kind::TextsByName, "{}", Same, "Annotations of the pods."),
    row("podLabels", Kind::TextsByName, "{}", Same, "Labels of the pods."),
    row("commonAnnotations", Kind::TextsByName, "{}", Same, "Annotations of all objects."),
    row("commonLabels", Kind::TextsByName, "{}", New, "Labels of all objects."),
    row("serviceAccount.create", Kind::Flag, "true", New, "Whether the chart makes it."),
    row("serviceAccountName", NAME, r#""""#, Differs("default was `cloud-controller-manager`"), "Its name; empty is the name of all objects."),
    row("serviceAccountAnnotations", Kind::TextsByName, "{}", Same, "Its annotations."),
    row("rbac.create", Kind::Flag, "true", New, "Whether the chart makes roles and bindings."),
    row("clusterRoleName", Kind::Text, r#""""#, Differs("default was `system:cloud-controller-manager`"), "The name of the roles; empty is `bowline:` and the name of all objects."),
    row("podDisruptionBudget.enabled", Kind::Flag, "true", New, "Whether there is one, for two replicas or more."),
    row("serviceMonitor.enabled", Kind::Flag, "false", Same, "Whether there is one."),
    row("serviceMonitor.additionalLabels", Kind::TextsByName, "{}", Same, "Labels by which Prometheus finds it."),
    row("serviceMonitor.interval", Kind::Pattern("^[0-9]+(ms|s|m)$"), r#""30s""#, New, "How often."),
    row("podMonitor.enabled", Kind::Flag, "false", New, "Whether there is one. Not together with a ServiceMonitor: everything would be counted twice."),
    row("podMonitor.additionalLabels", Kind::TextsByName, "{}", New, "Labels by which Prometheus finds it."),
    row("podMonitor.interval", Kind::Pattern("^[0-9]+(ms|s|m)$"), r#""30s""#, New, "How often."),
    row("prometheusRule.enabled", Kind::Flag, "false", New, "Whether there is one."),
    row("prometheusRule.additionalLabels", Kind::TextsByName, "{}", New, "Labels by which Prometheus finds it."),
    row("prometheusRule.runbooks", Kind::Text, r#""docs/guides/runbooks.md""#, New, "Where the page of the runbooks is; links in alerts begin with it."),
    row("dashboard.enabled", Kind::Flag, "false", New, "Whether there is one."),
    row("dashboard.labels", Kind::TextsByName, r#"{"grafana_dashboard": "1"}"#, New, "Labels by which Grafana's sidecar finds it."),
    row("dashboard.annotations", Kind::TextsByName, "{}", New, "Its annotations, such as the folder."),
    row("admissionPolicy.enabled", Kind::Flag, "false", New, "Whether there is one. It belongs to the cluster: one release only."),
];
