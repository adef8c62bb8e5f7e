use serde_json::{Value, json};

use super::super::fixture::{of_kind, pods, yaml};
use super::*;
use crate::hash::{Scope, references};
use crate::tls;

/// The platforms that have a manager: what OpenShift says, how many objects there are, and with a single replica.
const PLATFORMS: [(&str, &str, usize, usize); 9] = [
    ("AWS", "", 5, 4),
    ("Azure", "", 12, 11),
    ("Azure", "AzureStackCloud", 6, 5),
    ("GCP", "", 7, 6),
    ("IBMCloud", "", 3, 2),
    ("Nutanix", "", 7, 6),
    ("OpenStack", "", 3, 2),
    ("PowerVS", "", 3, 2),
    ("VSphere", "", 9, 8),
];

const IMAGES: &str = r#"{
    "cloudControllerManagerOperator": "registry.example/operator", "cloudControllerManagerAWS": "registry.example/aws",
    "cloudControllerManagerAzure": "registry.example/azure", "cloudNodeManagerAzure": "registry.example/azure-node",
    "cloudControllerManagerGCP": "registry.example/gcp", "cloudControllerManagerIBM": "registry.example/ibm",
    "cloudControllerManagerNutanix": "registry.example/nutanix", "cloudControllerManagerOpenStack": "registry.example/openstack",
    "cloudControllerManagerPowerVS": "registry.example/powervs", "cloudControllerManagerVSphere": "registry.example/vsphere"
}"#;

#[derive(Clone)]
struct Site {
    platform: String,
    cloud: String,
    topology: &'static str,
    name: &'static str,
    proxy: ProxySettings,
    images: Images,
    gates: FeatureGates,
}

impl Site {
    fn new(platform: &str, cloud: &str) -> Self {
        Self {
            platform: platform.to_owned(),
            cloud: cloud.to_owned(),
            topology: "HighlyAvailable",
            name: "prod-1-x7k2p",
            proxy: ProxySettings::default(),
            images: Images::parse(IMAGES).unwrap(),
            gates: FeatureGates::default(),
        }
    }

    fn render(&self) -> Result<Vec<Object>, RenderError> {
        let infrastructure: Infrastructure = serde_json::from_value(json!({ "status": {
            "infrastructureName": self.name, "controlPlaneTopology": self.topology,
            "platformStatus": { "type": self.platform, "azure": { "cloudName": self.cloud } },
        }}))
        .unwrap();
        let tls = tls::resolve("", &[], None).unwrap();
        let inputs = OpenShiftInputs {
            infrastructure: &infrastructure,
            proxy: &self.proxy,
            images: &self.images,
            gates: &self.gates,
            tls: &tls,
            namespace: MANAGED_NAMESPACE,
        };
        openshift(&inputs)
    }

    fn objects(&self) -> Vec<Object> {
        self.render().unwrap()
    }
}

fn sites() -> impl Iterator<Item = (Site, usize, usize)> {
    PLATFORMS.into_iter().map(|(platform, cloud, many, single)| (Site::new(platform, cloud), many, single))
}

fn script(pod: &Value) -> &str {
    pod["containers"][0]["command"][2].as_str().unwrap()
}

#[test]
fn every_platform_has_upstreams_objects() {
    for (site, ..) in sites() {
        let name =
            if site.cloud.is_empty() { site.platform.to_lowercase() } else { "azure-stack-hub".to_owned() };
        insta::assert_snapshot!(name, yaml(&site.objects()));
    }
}

#[test]
fn objects_are_as_many_as_upstreams_and_one_less_with_a_single_replica() {
    for (site, many, single) in sites() {
        let objects = site.objects();
        assert_eq!(objects.len(), many, "{}", site.platform);
        let single_site = Site { topology: "SingleReplica", ..site.clone() };
        let objects = single_site.objects();
        assert_eq!(objects.len(), single, "{}", site.platform);
        assert_eq!(of_kind(&objects, "Deployment")[0].body["spec"]["replicas"], 1);
        assert!(of_kind(&objects, "PodDisruptionBudget").is_empty());
    }
    for platform in
        ["oVirt", "Libvirt", "KubeVirt", "BareMetal", "None", "External", "AlibabaCloud", "Tomorrow"]
    {
        assert!(Site::new(platform, "").objects().is_empty(), "{platform}");
    }
    let error = Site::new("", "").render().unwrap_err();
    assert_eq!(error.to_string(), "no platform provider found on infrastructure");
}

#[test]
fn budget_and_service_come_last_and_are_named_by_the_platform() {
    for (site, ..) in sites() {
        let objects = site.objects();
        let name = format!("{}-cloud-controller-manager", site.platform.to_lowercase());
        let last: Vec<_> =
            objects.iter().rev().take(2).map(|object| (object.kind.as_str(), object.name.as_str())).collect();
        assert_eq!(last, [("Service", name.as_str()), ("PodDisruptionBudget", name.as_str())]);
        let deployment = of_kind(&objects, "Deployment")[0];
        let labels = &deployment.body["spec"]["template"]["metadata"]["labels"];
        for object in [of_kind(&objects, "Service")[0].body["spec"]["selector"].clone()] {
            for (key, value) in object.as_object().unwrap() {
                assert_eq!(&labels[key], value, "{}", site.platform);
            }
        }
    }
}

#[test]
fn what_is_rendered_twice_is_equal() {
    for (site, ..) in sites() {
        assert_eq!(yaml(&site.objects()), yaml(&site.objects()));
    }
}

#[test]
fn every_pod_keeps_upstreams_contract() {
    for (site, ..) in sites() {
        for (object, pod) in pods(&site.objects()) {
            let what = format!("{} {object}", site.platform);
            keeps_contract(&what, &object.body, pod);
            if object.kind == "Deployment" {
                keeps_manager_contract(&what, &object.body, pod);
            }
        }
    }
}

fn keeps_contract(what: &str, object: &Value, pod: &Value) {
    assert_eq!(pod["hostNetwork"], true, "{what}");
    let tolerates = |key: &str| {
        let taints = pod["tolerations"].as_array().unwrap();
        taints.iter().any(|taint| {
            taint["effect"] == "NoSchedule"
                && taint["operator"] == "Exists"
                && (taint["key"] == key || taint["key"].is_null())
        })
    };
    assert!(tolerates("node.cloudprovider.kubernetes.io/uninitialized"), "{what}");
    assert!(tolerates("node.kubernetes.io/not-ready"), "{what}");
    let selector = object["spec"]["selector"]["matchLabels"].as_object().unwrap();
    assert_eq!(&object["spec"]["template"]["metadata"]["labels"], &json!(selector), "{what}");
    for (key, value) in selector {
        assert_eq!(&object["metadata"]["labels"][key], value, "{what}");
    }
    let mounts = |path: &str| {
        let all = pod["containers"][0]["volumeMounts"].as_array().unwrap();
        all.iter().any(|mount| mount["mountPath"] == path && mount["readOnly"] == true)
    };
    assert!(mounts("/etc/kubernetes") && mounts("/etc/pki/ca-trust/extracted/pem"), "{what}");
    for container in pod["containers"].as_array().unwrap() {
        assert_eq!(container["command"][0], "/bin/bash", "{what}");
        assert!(container["args"].is_null(), "{what}");
        let prologue = "#!/bin/bash\nset -o allexport\nif [[ -f /etc/kubernetes/apiserver-url.env ]]; then\n  source /etc/kubernetes/apiserver-url.env\nfi\nexec /";
        assert!(script(pod).starts_with(prologue), "{what}");
        assert_eq!(container["terminationMessagePolicy"], "FallbackToLogsOnError", "{what}");
        let port = container["ports"][0]["containerPort"].as_i64().unwrap();
        assert!([10258, 10263].contains(&port), "{what}");
    }
    for container in pod["initContainers"].as_array().into_iter().flatten() {
        assert_eq!(container["terminationMessagePolicy"], "FallbackToLogsOnError", "{what}");
    }
}

fn keeps_manager_contract(what: &str, object: &Value, pod: &Value) {
    assert_eq!(object["spec"]["strategy"], json!({ "type": "Recreate" }), "{what}");
    assert_eq!(object["spec"]["replicas"], 2, "{what}");
    assert_eq!(pod["nodeSelector"], json!({ "node-role.kubernetes.io/master": "" }), "{what}");
    assert_eq!(pod["priorityClassName"], "system-cluster-critical", "{what}");
    let apart = &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(apart["topologyKey"], "kubernetes.io/hostname", "{what}");
    assert_eq!(apart["labelSelector"]["matchLabels"], object["metadata"]["labels"], "{what}");
    for flag in [
        "--leader-elect=true",
        "--leader-elect-lease-duration=137s",
        "--leader-elect-renew-deadline=107s",
        "--leader-elect-retry-period=26s",
        "--leader-elect-resource-namespace=openshift-cloud-controller-manager",
        "--configure-cloud-routes=false",
        "--use-service-account-credentials=true",
        "--tls-min-version=VersionTLS12",
        "--tls-cipher-suites=",
    ] {
        assert!(script(pod).contains(flag), "{what}: {flag}");
    }
}

#[test]
fn a_missing_image_is_told_in_upstreams_words() {
    for (site, ..) in sites() {
        let error = Site { images: Images::default(), ..site.clone() }.render().unwrap_err().to_string();
        let (provider, words) = error.split_once(": ").unwrap();
        assert_eq!(provider, site.platform.to_lowercase());
        assert!(words.starts_with("missed images in config: "), "{words}");
        assert!(words.ends_with(": non zero value required"), "{words}");
    }
    let only =
        Images::parse(r#"{"cloudControllerManagerAzure": "a", "cloudControllerManagerOperator": "o"}"#)
            .unwrap();
    let error = Site { images: only, ..Site::new("Azure", "") }.render().unwrap_err().to_string();
    assert_eq!(error, "azure: missed images in config: CloudNodeManager: non zero value required");
}

#[test]
fn a_cluster_without_a_name_is_refused_where_the_name_is_used() {
    for (site, ..) in sites() {
        let found = Site { name: "", ..site.clone() }.render();
        if ["AWS", "IBMCloud", "PowerVS"].contains(&site.platform.as_str()) {
            assert!(found.is_ok(), "{}", site.platform);
        } else {
            let wanted =
                format!("{}: infrastructureName: non zero value required", site.platform.to_lowercase());
            assert_eq!(found.unwrap_err().to_string(), wanted);
        }
    }
}

#[test]
fn the_proxy_is_for_containers_and_not_for_those_that_prepare() {
    let settings = |value| serde_json::from_value::<ProxySettings>(value).unwrap();
    let cases = [
        (json!({}), 0),
        (json!({ "httpProxy": "h" }), 1),
        (json!({ "httpProxy": "h", "httpsProxy": "s", "noProxy": "n" }), 3),
    ];
    for (site, ..) in sites() {
        for (value, wanted) in cases.clone() {
            let with_proxy = Site { proxy: settings(value), ..site.clone() };
            for (object, pod) in pods(&with_proxy.objects()) {
                let count = |containers: &Value| {
                    let all = containers.as_array().into_iter().flatten();
                    let variables =
                        all.flat_map(|container| container["env"].as_array().into_iter().flatten());
                    variables.filter(|one| one["name"].as_str().unwrap().ends_with("_PROXY")).count()
                };
                assert_eq!(count(&pod["containers"]), wanted, "{} {object}", site.platform);
                assert_eq!(count(&pod["initContainers"]), 0, "{} {object}", site.platform);
            }
        }
    }
}

#[test]
fn vsphere_marks_its_nodes_where_there_are_others() {
    let plain = Site::new("VSphere", "");
    let mixed = Site { gates: FeatureGates::on(["VSphereMixedNodeEnv"]), ..plain.clone() };
    let found = |site: &Site| {
        let objects = site.objects();
        let (_, pod) = pods(&objects)[0];
        let env = pod["containers"][0]["env"].as_array().unwrap().clone();
        let labels = env.into_iter().find(|one| one["name"] == "ADDITIONAL_NODE_LABELS").unwrap();
        (script(pod).contains(r#"--node-labels="$(ADDITIONAL_NODE_LABELS)""#), labels["value"].clone())
    };
    assert_eq!(found(&plain), (false, Value::Null));
    assert_eq!(found(&mixed), (true, json!("node.openshift.io/platform-type=vsphere")));
}

#[test]
fn gates_that_managers_know_reach_those_that_take_them() {
    let gates = FeatureGates::on(["CloudControllerManagerWebhook", "SomethingElse"]);
    for (site, ..) in sites() {
        let platform = site.platform.clone();
        let objects = Site { gates: gates.clone(), ..site }.objects();
        let (_, pod) = pods(&objects)[0];
        let takes = ["OpenStack", "VSphere"].contains(&platform.as_str());
        assert_eq!(
            script(pod).contains("--feature-gates=CloudControllerManagerWebhook=true "),
            takes,
            "{platform}"
        );
        assert!(!script(pod).contains("SomethingElse"), "{platform}");
    }
}

#[test]
fn stack_hub_pods_are_made_of_credentials_configuration_and_certificates() {
    let objects = Site::new("Azure", "AzureStackCloud").objects();
    let workloads: Vec<_> = objects.iter().filter_map(Object::pod_spec).collect();
    assert_eq!(workloads.len(), 2);
    for pod in workloads {
        let found = references(Some(&pod), Scope::Compatible);
        assert_eq!(found.secrets.into_iter().collect::<Vec<_>>(), ["azure-cloud-credentials"]);
        assert_eq!(found.config_maps.into_iter().collect::<Vec<_>>(), ["ccm-trusted-ca", "cloud-conf"]);
    }
}

#[test]
fn a_hash_can_be_put_on_pods_and_on_nothing_else() {
    let mut objects = Site::new("AWS", "").objects();
    objects.iter_mut().for_each(|object| object.annotate_pods("k", "v"));
    let annotated = objects.iter().filter(|object| object.body.to_string().contains(r#""k":"v""#)).count();
    assert_eq!(annotated, 1);
}
