use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::fixture::{PLATFORMS, facts, of_kind, pods, spec, yaml};
use super::super::{Naming, PREFIX, RenderedConfig, StaticPod, static_pod};
use super::*;
use crate::api::OWNER_LABEL;

const NAME: &str = "cloud";

fn rendered(spec: &CloudControllerManagerSpec, mode: ManagerMode, facts: &ClusterFacts) -> Vec<Object> {
    plain(spec, NAME, mode, facts).unwrap()
}

fn full(fields: &Value) -> Vec<Object> {
    rendered(&spec("OpenStack", "Bowline", fields), ManagerMode::Full, &facts())
}

fn refused(fields: &Value) -> String {
    plain(&spec("OpenStack", "Bowline", fields), NAME, ManagerMode::Full, &facts()).unwrap_err().to_string()
}

/// The flags of the manager in the only workload, or the first.
fn flags(objects: &[Object]) -> Vec<String> {
    let (_, pod) = pods(objects)[0];
    serde_json::from_value(pod["containers"][0]["args"].clone()).unwrap()
}

fn environment(objects: &[Object]) -> Vec<(String, String)> {
    let (_, pod) = pods(objects)[0];
    let env = pod["containers"][0]["env"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    env.iter().map(|one| (text(&one["name"]), text(&one["value"]))).collect()
}

/// Secrets with a configuration; the account that scrapes has one, too.
fn config_secrets(objects: &[Object]) -> Vec<&Object> {
    of_kind(objects, "Secret").into_iter().filter(|object| object.body["type"] == "Opaque").collect()
}

fn names(objects: &[Object]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

#[test]
fn every_platform_has_its_objects() {
    for (platform, manager) in PLATFORMS {
        let objects = rendered(&spec(platform, manager, &json!({})), ManagerMode::Full, &facts());
        let name = format!("{}-{}", platform.to_lowercase(), manager.to_lowercase());
        insta::assert_snapshot!(name, yaml(&objects));
    }
}

#[test]
fn every_form_and_the_shadow_have_their_objects() {
    let fields = json!({
        "cloudConfig": { "inline": "[Global]\n" }, "namespace": "cloud-system", "leaseName": "other-lease",
        "proxy": { "https": "http://proxy.example:3128", "no": "10.0.0.0/8" }, "trustedCA": null,
        "trustedCa": { "name": "ca" }, "apiServer": "[fd00::1]:6443", "tls": { "minVersion": "VersionTLS13" },
        "featureGates": { "A": true, "B": false }, "extraFlags": ["--v=4"],
    });
    let mut spec = spec("OpenStack", "Bowline", &fields);
    insta::assert_snapshot!("shadow", yaml(&rendered(&spec, ManagerMode::Shadow, &facts())));
    spec.form = Form::DaemonSet;
    insta::assert_snapshot!("daemon-set", yaml(&rendered(&spec, ManagerMode::Full, &facts())));
    spec.form = Form::StaticPod;
    insta::assert_snapshot!("static-pod-objects", yaml(&rendered(&spec, ManagerMode::Full, &facts())));
    spec.version = Some("1.2.3".to_owned());
    let StaticPod { pod, files } = static_pod(&spec, NAME, ManagerMode::Full, &facts()).unwrap();
    let files: String = files.iter().map(|(path, text)| format!("# {path}: {text:?}\n")).collect();
    insta::assert_snapshot!("static-pod", files + &yaml(&[pod]));
}

#[test]
fn all_objects_are_labelled_and_named_once() {
    for (platform, manager) in PLATFORMS {
        for form in ["Deployment", "DaemonSet", "StaticPod"] {
            let spec = spec(platform, manager, &json!({ "form": form, "namespace": "elsewhere" }));
            let objects = rendered(&spec, ManagerMode::Full, &facts());
            let distinct: BTreeSet<_> = objects.iter().map(ToString::to_string).collect();
            assert_eq!(distinct.len(), objects.len(), "{platform} {form}");
            for object in &objects {
                assert_eq!(object.label(OWNER_LABEL), Some(NAME), "{platform} {form} {object}");
                assert!(object.label("app.kubernetes.io/name").is_some(), "{platform} {form} {object}");
            }
        }
    }
}

#[test]
fn no_name_of_a_resource_names_anything_but_objects_of_its_own() {
    for name in ["clusterrole-aggregation-controller", "cloud-controller-manager", "operator", "default"] {
        for (platform, manager) in PLATFORMS {
            for form in ["Deployment", "DaemonSet", "StaticPod"] {
                for mode in ManagerMode::ALL {
                    let spec = spec(platform, manager, &json!({ "form": form }));
                    let objects = plain(&spec, name, mode, &facts()).unwrap_or_default();
                    let has_prefix = |name: &str| name.starts_with(PREFIX) || name.starts_with("bowline:");
                    for object in &objects {
                        assert!(has_prefix(&object.name), "{platform} {form} {mode:?}: {object}");
                        let subjects = object.body["subjects"].as_array().into_iter().flatten();
                        for subject in subjects.filter(|subject| subject["kind"] == "ServiceAccount") {
                            assert!(has_prefix(subject["name"].as_str().unwrap()), "{platform}: {object}");
                        }
                    }
                    for (object, pod) in pods(&objects) {
                        let account = pod["serviceAccountName"].as_str().unwrap();
                        assert!(
                            has_prefix(account),
                            "{platform} {form} {mode:?}: {object} runs as {account}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn manifests_for_people_have_the_names_that_they_chose() {
    let facts = ClusterFacts { naming: Naming::Bare, ..facts() };
    let objects = rendered(&spec("OpenStack", "Bowline", &json!({})), ManagerMode::Full, &facts);
    assert_eq!(of_kind(&objects, "Deployment")[0].name, NAME);
    assert_eq!(of_kind(&objects, "ServiceAccount")[0].name, NAME);
}

#[test]
fn what_is_rendered_twice_is_equal() {
    for (platform, manager) in PLATFORMS {
        let spec = spec(platform, manager, &json!({}));
        let [first, second] = [(), ()].map(|()| rendered(&spec, ManagerMode::Full, &facts()));
        assert_eq!(yaml(&first), yaml(&second), "{platform}");
    }
}

#[test]
fn every_pod_keeps_the_contract() {
    for (platform, manager) in PLATFORMS {
        for form in ["Deployment", "DaemonSet"] {
            let spec = spec(platform, manager, &json!({ "form": form }));
            for (object, pod) in pods(&rendered(&spec, ManagerMode::Full, &facts())) {
                keeps_contract(&format!("{platform} {object}"), pod);
            }
        }
    }
}

fn keeps_contract(what: &str, pod: &Value) {
    assert_eq!(pod["hostNetwork"], true, "{what}");
    assert!(pod["priorityClassName"].as_str().unwrap().ends_with("-critical"), "{what}");
    assert_eq!(pod["dnsPolicy"], "Default", "{what}");
    let context = &pod["securityContext"];
    assert_eq!(context["runAsNonRoot"], true, "{what}");
    assert_eq!(context["seccompProfile"]["type"], "RuntimeDefault", "{what}");
    let tolerates = |key: &str, effect: &str| {
        pod["tolerations"].as_array().unwrap().iter().any(|taint| {
            taint["effect"] == effect
                && taint["operator"] == "Exists"
                && (taint["key"] == key || taint["key"].is_null())
        })
    };
    for key in [
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/not-ready",
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
    ] {
        assert!(tolerates(key, "NoSchedule"), "{what}: {key}");
    }
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        assert!(tolerates(key, "NoExecute"), "{what}: {key}");
    }
    for container in pod["containers"].as_array().unwrap() {
        let context = &container["securityContext"];
        assert_eq!(context["allowPrivilegeEscalation"], false, "{what}");
        assert_eq!(context["readOnlyRootFilesystem"], true, "{what}");
        assert_eq!(context["capabilities"]["drop"], json!(["ALL"]), "{what}");
        assert_eq!(container["terminationMessagePolicy"], "FallbackToLogsOnError", "{what}");
        assert!(container["resources"]["requests"]["cpu"].is_string(), "{what}");
        let mounts = container["volumeMounts"].as_array().into_iter().flatten();
        mounts.for_each(|mount| assert_eq!(mount["readOnly"], true, "{what}: {mount}"));
    }
    let volumes = pod["volumes"].as_array().into_iter().flatten();
    volumes.for_each(|volume| assert!(volume["hostPath"].is_null(), "{what}: {volume}"));
}

#[test]
fn managers_spread_over_the_control_plane_and_are_probed_on_the_loopback() {
    for (platform, manager) in PLATFORMS {
        let objects = rendered(&spec(platform, manager, &json!({})), ManagerMode::Full, &facts());
        let (object, pod) = pods(&objects)[0];
        let terms = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        let keys: Vec<_> =
            terms.as_array().unwrap().iter().map(|term| &term["matchExpressions"][0]["key"]).collect();
        assert_eq!(
            keys,
            ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"],
            "{platform}"
        );
        let apart = &pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
        assert_eq!(apart["labelSelector"], object.body["spec"]["selector"], "{platform}");
        assert_eq!(
            object.body["spec"]["strategy"]["rollingUpdate"],
            json!({ "maxSurge": 0, "maxUnavailable": 1 })
        );
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            let get = &pod["containers"][0][probe]["httpGet"];
            assert_eq!(
                (&get["host"], &get["scheme"], &get["port"]),
                (&json!("127.0.0.1"), &json!("HTTPS"), &json!(10258))
            );
        }
    }
}

#[test]
fn the_mode_is_in_the_flags() {
    let spec = spec("OpenStack", "Bowline", &json!({ "namespace": "n" }));
    let of = |mode| flags(&rendered(&spec, mode, &facts()));
    let has = |mode, flag: &str| of(mode).iter().any(|known| known == flag);
    assert!(has(ManagerMode::Shadow, "--shadow") && has(ManagerMode::Shadow, "--leader-elect=false"));
    assert!(has(ManagerMode::Shadow, "--shadow-report=n/bowline-ccm-cloud-shadow-report"));
    assert!(has(ManagerMode::Shadow, "--secure-port=10278"), "beside the manager that runs");
    assert!(has(ManagerMode::Paused, "--paused") && has(ManagerMode::Paused, "--leader-elect=true"));
    assert!(has(ManagerMode::ServiceOnly, "--controllers=service-lb-controller"));
    assert!(has(ManagerMode::ServiceOnly, "--adopt-only"));
    assert!(has(ManagerMode::ServiceOnly, "--shadow-report=n/bowline-ccm-cloud-shadow-report"));
    assert!(has(
        ManagerMode::WithoutNodes,
        "--controllers=*,-cloud-node-controller,-cloud-node-lifecycle-controller"
    ));
    for mode in [ManagerMode::WithoutNodes, ManagerMode::Full] {
        for flag in ["--shadow", "--paused", "--adopt-only"] {
            assert!(!has(mode, flag), "{mode:?} {flag}");
        }
    }
}

#[test]
fn our_manager_knows_every_flag_and_value_that_it_is_given() {
    let fields = json!({
        "tls": { "minVersion": "VersionTLS12", "cipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"] },
        "extraFlags": ["--v=2"],
    });
    let table = bowline_manager::flags::FlagTable::common();
    for mode in [ManagerMode::Paused, ManagerMode::WithoutNodes, ManagerMode::Full] {
        let objects = rendered(&spec("OpenStack", "Bowline", &fields), mode, &facts());
        let (command, flags) =
            flags(&objects).split_first().map(|(first, rest)| (first.clone(), rest.to_vec())).unwrap();
        assert_eq!(command, "ccm");
        let parsed = bowline_manager::flags::parse(&table, flags);
        assert!(parsed.is_ok(), "{mode:?}: {:?}", parsed.err());
    }
}

#[test]
fn the_shadow_is_beside_the_manager_and_can_write_nothing_but_its_report() {
    let spec = spec("OpenStack", "Bowline", &json!({ "replicas": 3 }));
    let shadow = rendered(&spec, ManagerMode::Shadow, &facts());
    let manager = rendered(&spec, ManagerMode::Full, &facts());
    let workload = of_kind(&shadow, "Deployment")[0];
    assert_eq!(
        (workload.name.as_str(), &workload.body["spec"]["replicas"]),
        ("bowline-ccm-cloud-shadow", &json!(1))
    );
    for object in &shadow {
        let same = manager.iter().find(|other| other.to_string() == object.to_string());
        assert!(same.is_none_or(|same| same == object), "{object} would take the manager's place");
    }
    let cluster_role = of_kind(&shadow, "ClusterRole")[0].body["rules"].to_string();
    for resource in ["nodes", "services", "namespaces"] {
        assert!(cluster_role.contains(resource), "{resource} must be seen: {cluster_role}");
    }
    for role in shadow.iter().filter(|object| object.kind.ends_with("Role")) {
        for rule in role.body["rules"].as_array().unwrap() {
            let verbs: Vec<&str> =
                rule["verbs"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let resource = rule["resources"][0].as_str().unwrap();
            let reads = verbs.iter().all(|verb| ["get", "list", "watch"].contains(verb));
            let is_report = resource == "configmaps" && role.namespace.is_some();
            assert!(reads || is_report || resource.ends_with("reviews"), "{role}: {rule}");
        }
    }
    let error = plain(
        &super::super::fixture::spec("AWS", "Upstream", &json!({})),
        NAME,
        ManagerMode::Shadow,
        &facts(),
    );
    assert!(matches!(error, Err(RenderError::NoShadow)));
}

#[test]
fn a_manager_that_cannot_pause_is_not_there_while_it_should() {
    let spec = spec("Azure", "Upstream", &json!({}));
    assert!(pods(&rendered(&spec, ManagerMode::Paused, &facts())).is_empty());
    assert_eq!(pods(&rendered(&spec, ManagerMode::ServiceOnly, &facts())).len(), 1, "no agent on nodes yet");
    assert_eq!(pods(&rendered(&spec, ManagerMode::Full, &facts())).len(), 2);
}

#[test]
fn one_replica_has_no_disruption_budget_and_two_are_where_two_can_be() {
    let count = |fields: &Value, nodes: usize| {
        let facts = ClusterFacts { control_plane_nodes: nodes, ..facts() };
        let objects = rendered(&spec("OpenStack", "Bowline", fields), ManagerMode::Full, &facts);
        let replicas = of_kind(&objects, "Deployment")[0].body["spec"]["replicas"].as_i64().unwrap();
        (replicas, of_kind(&objects, "PodDisruptionBudget").len())
    };
    assert_eq!(count(&json!({}), 0), (1, 0));
    assert_eq!(count(&json!({}), 1), (1, 0));
    assert_eq!(count(&json!({}), 2), (2, 1));
    assert_eq!(count(&json!({}), 5), (2, 1));
    assert_eq!(count(&json!({ "replicas": 3 }), 1), (3, 1));
    assert_eq!(count(&json!({ "replicas": 1 }), 3), (1, 0));
}

#[test]
fn another_configuration_is_another_object_and_another_pod() {
    let spec = spec("OpenStack", "Bowline", &json!({}));
    let of = |text: &str, inputs: Option<&str>| {
        let config = Some(RenderedConfig::new(text));
        let facts = ClusterFacts { config, inputs_hash: inputs.map(str::to_owned), ..facts() };
        let objects = rendered(&spec, ManagerMode::Full, &facts);
        let template = of_kind(&objects, "Deployment")[0].body["spec"]["template"].clone();
        (of_kind(&objects, "Secret")[0].name.clone(), template)
    };
    let (name, template) = of("a", None);
    assert_eq!(name, "bowline-ccm-cloud-config-ca978112ca", "the SHA-256 of the letter a");
    assert_eq!(of("a", None), (name.clone(), template.clone()));
    let (other_name, other) = of("b", None);
    assert!(other_name != name && other != template);
    let (same_name, rotated) = of("a", Some("credentials-2"));
    assert!(same_name == name && rotated != template, "credentials that were changed roll pods, too");
}

#[test]
fn a_text_from_a_secret_stays_secret_and_no_debug_output_has_it() {
    let config = Some(RenderedConfig::new("password = very-secret"));
    let facts = ClusterFacts { config, ..facts() };
    let objects = rendered(&spec("OpenStack", "Bowline", &json!({})), ManagerMode::Full, &facts);
    assert!(!format!("{objects:?} {facts:?}").contains("very-secret"));
    assert!(of_kind(&objects, "ConfigMap").is_empty());
    let inline = full(&json!({ "cloudConfig": { "inline": "x" } }));
    assert_eq!((of_kind(&inline, "ConfigMap").len(), config_secrets(&inline).len()), (1, 0));
    let from_map = full(&json!({ "cloudConfig": { "configMap": { "name": "x" } } }));
    assert_eq!((of_kind(&from_map, "ConfigMap").len(), config_secrets(&from_map).len()), (0, 1));
}

#[test]
fn proxy_certificates_and_api_server_are_in_the_environment() {
    assert_eq!(environment(&full(&json!({}))), []);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let found = environment(&full(&json!({
        "proxy": { "http": "h", "https": "s", "no": "n" }, "trustedCa": { "name": "ca" }, "apiServer": "[::1]:6443",
    })));
    let wanted = [
        pair("KUBERNETES_SERVICE_HOST", "::1"),
        pair("KUBERNETES_SERVICE_PORT", "6443"),
        pair("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"),
        pair("SSL_CERT_DIR", "/etc/bowline/trusted-ca"),
        pair("HTTP_PROXY", "h"),
        pair("HTTPS_PROXY", "s"),
        pair("NO_PROXY", "n"),
    ];
    assert_eq!(found, wanted);
    for wrong in ["host", "host:", ":6443", "fd00::1:6443", "host:port", "https://host:6443"] {
        let error = refused(&json!({ "apiServer": wrong }));
        assert!(error.contains("apiServer") && error.contains(wrong), "{error}");
    }
}

#[test]
fn the_lease_of_the_resource_is_the_one_that_may_be_written() {
    let objects = full(&json!({ "leaseName": "old-lease", "leaseNamespace": "old" }));
    let role = objects
        .iter()
        .find(|object| object.kind == "Role" && object.namespace.as_deref() == Some("old"))
        .unwrap();
    let rules = role.body["rules"].to_string();
    assert!(rules.contains("old-lease") && !rules.contains("\"cloud-controller-manager\""), "{rules}");
    assert!(flags(&objects).contains(&"--leader-elect-resource-name=old-lease".to_owned()));
}

#[test]
fn images_follow_from_version_and_server_or_are_asked_for() {
    let of = |platform: &str, manager: &str, fields: &Value, minor| {
        let facts = ClusterFacts { server_minor: minor, ..facts() };
        let objects = plain(&spec(platform, manager, fields), NAME, ManagerMode::Full, &facts)?;
        let (_, pod) = pods(&objects)[0];
        Ok::<_, RenderError>(pod["containers"][0]["image"].as_str().unwrap().to_owned())
    };
    let none = json!({ "image": null });
    let version = json!({ "image": null, "version": "v9" });
    assert_eq!(of("OpenStack", "Bowline", &none, None).unwrap(), "registry.example/bowline:v0.1.0");
    assert_eq!(of("OpenStack", "Bowline", &version, None).unwrap(), "registry.example/bowline:v9");
    let occm = "registry.k8s.io/provider-os/openstack-cloud-controller-manager";
    assert_eq!(of("OpenStack", "Upstream", &none, Some(33)).unwrap(), format!("{occm}:v1.33.0"));
    assert_eq!(of("OpenStack", "Upstream", &version, Some(33)).unwrap(), format!("{occm}:v9"));
    let error = of("OpenStack", "Upstream", &none, None).unwrap_err().to_string();
    assert!(error.contains("OpenStack") && error.contains("spec.version or spec.image"), "{error}");
    assert!(of("Azure", "Upstream", &version, None).unwrap().ends_with("azure-cloud-controller-manager:v9"));
    let error = of("Nutanix", "Upstream", &version, Some(33)).unwrap_err().to_string();
    assert!(error.contains("Nutanix") && error.contains("wanted spec.image"), "{error}");
    assert!(matches!(of("AWS", "Bowline", &none, None), Err(RenderError::NotOurs { .. })));
}

#[test]
fn a_namespace_is_made_where_there_may_be_none_and_lets_pods_use_the_host() {
    assert!(of_kind(&full(&json!({})), "Namespace").is_empty());
    assert!(of_kind(&full(&json!({ "namespace": "default" })), "Namespace").is_empty());
    let objects = full(&json!({ "namespace": "cloud-system" }));
    assert_eq!(names(&objects)[0], "Namespace cloud-system", "before everything in it");
    assert_eq!(objects[0].label("pod-security.kubernetes.io/enforce"), Some("privileged"));
}

#[test]
fn a_static_pod_refers_to_nothing_in_the_api() {
    for (platform, manager) in PLATFORMS.into_iter().filter(|(platform, _)| *platform != "Azure") {
        let spec = spec(platform, manager, &json!({ "form": "StaticPod" }));
        let StaticPod { pod, files } = static_pod(&spec, NAME, ManagerMode::Full, &facts()).unwrap();
        let text = pod.body.to_string();
        for word in ["configMap", "secretName", "serviceAccount", "projected"] {
            assert!(!text.contains(word), "{platform}: {word}");
        }
        assert!(text.contains("--kubeconfig=/etc/kubernetes/cloud-controller-manager.conf"));
        assert!(files.iter().any(|(path, text)| path.ends_with("cloud.conf") && text.is_some()));
        let objects = rendered(&spec, ManagerMode::Full, &facts());
        assert!(pods(&objects).is_empty() && config_secrets(&objects).is_empty(), "{platform}");
        let binding = of_kind(&objects, "ClusterRoleBinding")[0];
        assert_eq!(binding.body["subjects"][0]["name"], "system:cloud-controller-manager");
    }
    let azure = spec("Azure", "Upstream", &json!({ "form": "StaticPod" }));
    assert!(matches!(
        static_pod(&azure, NAME, ManagerMode::Full, &facts()),
        Err(RenderError::NotStatic { .. })
    ));
}

#[test]
fn a_service_monitor_is_made_only_where_its_api_exists() {
    let spec = spec("OpenStack", "Bowline", &json!({}));
    let without = ClusterFacts { has_service_monitor: false, ..facts() };
    assert!(of_kind(&rendered(&spec, ManagerMode::Full, &without), "ServiceMonitor").is_empty());
    let objects = rendered(&spec, ManagerMode::Full, &facts());
    let monitor = of_kind(&objects, "ServiceMonitor")[0];
    let service = of_kind(&objects, "Service")[0];
    assert_eq!(monitor.body["spec"]["selector"]["matchLabels"], service.body["spec"]["selector"]);
    assert_eq!(service.body["spec"]["clusterIP"], "None");
    let endpoint = &monitor.body["spec"]["endpoints"][0];
    assert!(endpoint["bearerTokenFile"].is_null(), "the token of Prometheus goes to nobody");
    let token = &endpoint["authorization"]["credentials"]["name"];
    let secrets = of_kind(&objects, "Secret");
    let secret = secrets.iter().find(|secret| secret.name == *token).unwrap();
    let account = &secret.body["metadata"]["annotations"]["kubernetes.io/service-account.name"];
    let account = account.as_str().unwrap();
    assert!(of_kind(&objects, "ServiceAccount").iter().any(|object| object.name == account));
    let bindings = objects.iter().filter(|object| {
        let subjects = object.body["subjects"].as_array();
        subjects.is_some_and(|subjects| subjects.iter().any(|subject| subject["name"] == account))
    });
    let roles: Vec<_> = bindings.map(|binding| binding.body["roleRef"]["name"].clone()).collect();
    assert_eq!(roles, ["bowline:cloud:scraper"]);
    let role =
        objects.iter().find(|object| object.kind == "ClusterRole" && object.name == "bowline:cloud:scraper");
    assert_eq!(role.unwrap().body["rules"], json!([{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }]));
}

#[test]
fn wrong_values_are_refused_by_name() {
    let error = refused(&json!({ "extraFlags": ["--cluster-name=x"] }));
    assert!(error.contains("--cluster-name") && error.contains("clusterName"), "{error}");
    let error = refused(&json!({ "tls": { "minVersion": "TLS1" } }));
    assert!(error.contains("TLS1") && error.contains("VersionTLS13"), "{error}");
}

#[test]
fn azures_node_controller_is_left_to_its_agents_unless_somebody_says_otherwise() {
    let of = |controllers: &[&str]| {
        let fields = json!({ "controllers": controllers });
        let objects = rendered(&spec("Azure", "Upstream", &fields), ManagerMode::Full, &facts());
        flags(&objects).into_iter().find(|flag| flag.starts_with("--controllers=")).unwrap()
    };
    assert_eq!(of(&["*"]), "--controllers=*,-cloud-node");
    assert_eq!(of(&["*", "cloud-node"]), "--controllers=*,cloud-node");
    assert_eq!(of(&["service"]), "--controllers=service");
}
