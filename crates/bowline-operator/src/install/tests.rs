use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::render::fixture::{PLATFORMS, facts, spec};
use crate::render::{ManagerMode, plain};

const IMAGE: &str = "registry.example/bowline:v1";

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// One verb on one resource of one group, of one name or of all (`*`).
type Granted = (String, String, String, String);

/// Everything that rules grant.
fn granted(rules: &Value) -> BTreeSet<Granted> {
    let mut all = BTreeSet::new();
    for rule in rules.as_array().into_iter().flatten() {
        let groups =
            if rule["nonResourceURLs"].is_null() { words(&rule["apiGroups"]) } else { vec![String::new()] };
        let resources = [words(&rule["resources"]), words(&rule["nonResourceURLs"])].concat();
        let names = Some(words(&rule["resourceNames"])).filter(|names| !names.is_empty());
        let names = names.unwrap_or_else(|| vec!["*".to_owned()]);
        for (group, resource) in
            groups.iter().flat_map(|group| resources.iter().map(move |each| (group, each)))
        {
            for (verb, name) in
                words(&rule["verbs"]).iter().flat_map(|verb| names.iter().map(move |name| (verb, name)))
            {
                all.insert((group.clone(), resource.clone(), verb.clone(), name.clone()));
            }
        }
    }
    all
}

fn installed(installation: &Installation) -> Vec<Object> {
    objects(installation).unwrap()
}

fn everything() -> Installation {
    let allowed_namespaces = ["kube-system", "cloud", "leases"].map(str::to_owned).to_vec();
    let allowed = Allowed { allowed_namespaces, ..Allowed::default() };
    Installation { allowed, openshift: true, azure: true, ..Installation::of_image(IMAGE) }
}

/// What the operator holds in a namespace, what it holds everywhere among it.
fn held(objects: &[Object], namespace: Option<&str>) -> BTreeSet<Granted> {
    let counts = |object: &&Object| {
        object.kind == "ClusterRole" || (object.kind == "Role" && object.namespace.as_deref() == namespace)
    };
    objects.iter().filter(counts).flat_map(|object| granted(&object.body["rules"])).collect()
}

/// What an object grants that the operator does not hold.
fn missing(installed: &[Object], role: &Object) -> Vec<Granted> {
    let held = held(installed, role.namespace.as_deref());
    let is_held = |(group, resource, verb, name): &Granted| {
        let any = (group.clone(), resource.clone(), verb.clone(), "*".to_owned());
        held.contains(&any) || held.contains(&(group.clone(), resource.clone(), verb.clone(), name.clone()))
    };
    granted(&role.body["rules"]).into_iter().filter(|right| !is_held(right)).collect()
}

#[test]
fn the_operator_is_two_hardened_pods_that_start_before_the_network() {
    let objects = installed(&Installation::of_image(IMAGE));
    let kinds: Vec<_> = objects.iter().map(|object| object.kind.as_str()).collect();
    assert_eq!(kinds[..3], ["CustomResourceDefinition", "Namespace", "ServiceAccount"]);
    let deployment = objects.iter().find(|object| object.kind == "Deployment").unwrap();
    assert_eq!(deployment.body["spec"]["replicas"], 2);
    let pod = &deployment.body["spec"]["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["containers"][0]["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(pod["containers"][0]["args"], json!(["operator", "run"]));
    assert_eq!(pod["containers"][0]["resources"]["limits"], json!({ "memory": "512Mi" }));
}

#[test]
fn what_the_manifests_are_asked_for_is_what_the_operator_is_told() {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let allowed = Allowed {
        allowed_namespaces: list(&["kube-system", "cloud"]),
        allowed_image_registries: list(&["registry.corp"]),
        allowed_secrets: list(&["a", "b"]),
        allowed_leases: list(&["old"]),
    };
    let objects = installed(&Installation { allowed, ..Installation::of_image(IMAGE) });
    let deployment = objects.iter().find(|object| object.kind == "Deployment").unwrap();
    assert_eq!(
        deployment.body["spec"]["template"]["spec"]["containers"][0]["args"],
        json!([
            "operator",
            "run",
            "--allowed-namespaces=kube-system,cloud",
            "--allowed-image-registries=registry.corp",
            "--allowed-secrets=a,b",
            "--allowed-leases=old"
        ])
    );
    let names = |kind: &str| -> Vec<String> {
        let all = objects.iter().filter(|object| object.kind == kind);
        all.map(|object| object.namespace.clone().unwrap_or_else(|| object.name.clone())).collect()
    };
    assert_eq!(names("Namespace"), ["bowline-system", "cloud"], "kube-system is everybody's");
    assert_eq!(names("Role"), ["kube-system", "bowline-system", "cloud"]);
    assert_eq!(names("RoleBinding"), names("Role"));
}

#[test]
fn the_operator_holds_every_right_that_it_grants() {
    let objects = installed(&everything());
    let fields = json!({ "namespace": "cloud", "leaseNamespace": "leases" });
    for (platform, manager) in PLATFORMS {
        for mode in ManagerMode::ALL {
            let Ok(made) = plain(&spec(platform, manager, &fields), "cloud", mode, &facts()) else {
                continue;
            };
            for role in made.iter().filter(|object| object.kind.ends_with("Role")) {
                assert_eq!(missing(&objects, role), [], "{platform} {mode:?} {role}");
            }
        }
    }
}

#[test]
fn without_openshift_and_azure_their_rights_are_not_there_and_the_others_suffice() {
    let objects = installed(&Installation::of_image(IMAGE));
    let text = objects.iter().map(|object| object.body["rules"].to_string()).collect::<String>();
    for word in ["openshift.io", "admissionregistration", "endpointslices"] {
        assert!(!text.contains(word), "{word}");
    }
    let plainly = Installation::of_image(IMAGE);
    let azure = Installation { azure: true, ..plainly.clone() };
    for (platform, manager) in PLATFORMS {
        let objects = installed(if platform == "Azure" { &azure } else { &plainly });
        for mode in ManagerMode::ALL {
            let Ok(made) = plain(&spec(platform, manager, &json!({})), "cloud", mode, &facts()) else {
                continue;
            };
            for role in made.iter().filter(|object| object.kind.ends_with("Role")) {
                assert_eq!(missing(&objects, role), [], "{platform} {mode:?} {role}");
            }
        }
    }
}

#[test]
fn secrets_accounts_and_workloads_are_written_in_listed_namespaces_only() {
    for installation in [Installation::of_image(IMAGE), everything()] {
        let objects = installed(&installation);
        for (_, resource, verb, name) in held(&objects, None) {
            let is_read = ["get", "list", "watch"].contains(&verb.as_str());
            match resource.as_str() {
                "secrets"
                | "configmaps"
                | "serviceaccounts"
                | "roles"
                | "rolebindings"
                | "poddisruptionbudgets" => {
                    panic!("{verb} {resource} everywhere")
                }
                "deployments" | "daemonsets" | "pods" => assert!(is_read, "{verb} {resource} everywhere"),
                "leases" | "namespaces" => {
                    assert!(verb == "get" && name != "*", "{verb} {resource} everywhere");
                }
                _ => {}
            }
        }
        let with_secrets: Vec<_> = objects
            .iter()
            .filter(|object| {
                object.kind == "Role" && object.body["rules"].to_string().contains("\"secrets\"")
            })
            .filter_map(|object| object.namespace.clone())
            .collect();
        let mut wanted = installation.allowed.allowed_namespaces.clone();
        wanted.extend(installation.openshift.then(|| MANAGED_NAMESPACE.to_owned()));
        assert_eq!(with_secrets, wanted);
    }
}

#[test]
fn the_operator_has_no_wildcard_and_cannot_raise_its_rights() {
    for right in rights() {
        assert!(!right.why.is_empty());
        for word in right.verbs.iter().chain(right.resources) {
            assert!(!["*", "escalate", "bind", "impersonate"].contains(word), "{right:?}");
        }
    }
}

#[test]
fn every_kind_that_is_applied_may_be_kept() {
    let installed = installed(&everything());
    for (platform, manager) in PLATFORMS {
        let spec = spec(platform, manager, &json!({ "namespace": "cloud" }));
        let made = plain(&spec, "cloud", ManagerMode::Full, &facts()).unwrap();
        for object in made.iter().filter(|object| object.kind != "Namespace") {
            let plural = match object.kind.to_lowercase() {
                kind if kind.ends_with('y') => format!("{}ies", kind.trim_end_matches('y')),
                kind => format!("{kind}s"),
            };
            let own = held(&installed, object.namespace.as_deref());
            for verb in ["get", "list", "watch", "create", "patch", "delete"] {
                let right = (object.group().to_owned(), plural.clone(), verb.to_owned(), "*".to_owned());
                assert!(own.contains(&right), "{platform} {object}: {right:?}");
            }
        }
    }
}

#[test]
fn the_policy_is_about_the_operators_account_alone_and_denies() {
    let objects = installed(&Installation::of_image(IMAGE));
    let body = |kind: &str| &objects.iter().find(|object| object.kind == kind).unwrap().body["spec"];
    let policy = body("ValidatingAdmissionPolicy");
    assert_eq!(policy["failurePolicy"], "Fail");
    let account = "request.userInfo.username == 'system:serviceaccount:bowline-system:bowline-operator'";
    assert_eq!(policy["matchConditions"][0]["expression"], account);
    let binding = body("ValidatingAdmissionPolicyBinding");
    assert_eq!((&binding["policyName"], &binding["validationActions"]), (&json!(NAME), &json!(["Deny"])));
    let kinds = words(&policy["matchConstraints"]["resourceRules"][0]["resources"]);
    for kind in crate::apply::KINDS.iter().filter(|kind| !["namespaces", ""].contains(&kind.plural)) {
        let is_policy = kind.api_version.starts_with("admissionregistration");
        assert!(is_policy || kinds.iter().any(|known| known == kind.plural), "{}", kind.plural);
    }
}

/// The fence's rules, each with what it says where it does not hold.
fn rules() -> Vec<(String, String)> {
    let objects = installed(&Installation::of_image(IMAGE));
    let policy = objects.iter().find(|object| object.kind == "ValidatingAdmissionPolicy").unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rules = policy.body["spec"]["validations"].as_array().unwrap().iter();
    rules.map(|rule| (text(&rule["expression"]), text(&rule["message"]))).collect()
}

fn rule(said: &str) -> String {
    rules().into_iter().find(|(_, message)| message.contains(said)).unwrap().0
}

#[test]
fn the_fence_lets_no_label_make_a_workload_of_others_the_operators_own() {
    let label = rule("its label on objects under its prefix only");
    assert!(label.contains("variables.owner == variables.owned_by"), "{label}");
    let own = rule("only what it made");
    assert!(own.contains("variables.workload ? variables.previous || variables.unprefixed"), "{own}");
}

#[test]
fn the_fence_compares_the_whole_pod_template_of_managers_of_others() {
    let pods = rule("changes nothing of what they run");
    let (new, old) = ("object.spec.template.spec", "oldObject.spec.template.spec");
    assert!(pods.contains(&format!("{new}.all(key, key == 'nodeSelector' || (key in {old} && ")), "{pods}");
    assert!(pods.contains(&format!("{old}.all(key, key == 'nodeSelector' || key in {new})")), "{pods}");
    assert!(pods.contains("key == 'bowline.dev/stopped'"), "stopping a DaemonSet is let through: {pods}");
    assert!(pods.contains("object.spec.template.?metadata == oldObject.spec.template.?metadata"), "{pods}");
}

#[test]
fn the_fence_covers_leases_but_that_of_the_operators_election() {
    let objects = installed(&Installation::of_image(IMAGE));
    let policy = objects.iter().find(|object| object.kind == "ValidatingAdmissionPolicy").unwrap();
    let matched = &policy.body["spec"]["matchConstraints"]["resourceRules"][0];
    assert!(words(&matched["resources"]).contains(&"leases".to_owned()), "{matched}");
    assert!(words(&matched["apiGroups"]).contains(&"coordination.k8s.io".to_owned()), "{matched}");
    assert!(rules()[0].0.contains("request.resource.resource != 'leases'"));
    assert!(rules().iter().all(|(expression, _)| expression.contains("variables.election ||")));
}
