//! The policy of the rules of `[Tenancy]` refuses what the controller refuses, in its words, and nothing else.

use anyhow::{Context, ensure};
use bowline_cloud::{IpFamily, ServiceType, ServiceView};
use bowline_openstack::config::{CloudConf, Source, decode};
use bowline_openstack::loadbalancer::tenancy::policy;
use bowline_openstack::loadbalancer::tenancy::rules::{RULES, forbidden};
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::eventually;
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::objects::create_namespace;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

/// Sections for patterns of different length and for names; values of every kind of comparison. Other tests use the same API server, so
/// no section is for all namespaces.
const CONF: &str = r#"
[Tenancy "tenancy*"]
floating-ip = 192.0.2.0/24
floating-ip = 2001:db8::1
vip-address = 10.0.0.0/8
port-id = none
floating-subnet = *-public
floating-subnet-tags = blue
class = none

[Tenancy "tenancy-*"]
flavor-id = small
flavor-id = m1.*
availability-zone = none
default-tls-container-ref = https://keys.example/v1/containers/*
floating-network-id = public

[Tenancy "tenancy-red-*"]
flavor-id = any
vip-address = none
class = internet

[Tenancy "tenancy-red-1"]
port-id = p-1
member-subnet-id = none
subnet-id = s.1
network-id = n-*
floating-subnet-id = any
"#;

const NAMESPACES: [&str; 5] =
    ["tenancy-blue", "tenancy-red-1", "tenancy-red-12", "tenancyothers", "without-rules"];

/// Values for every rule: allowed somewhere, allowed nowhere, empty, and such that a regular expression would take for allowed ones.
const VALUES: [&str; 22] = [
    "",
    "small",
    "smaller",
    "m1.large",
    "m1xlarge",
    "xm1.large",
    "any",
    "none",
    "p-1",
    "s.1",
    "sx1",
    "n-",
    "n-7\n",
    "internet",
    "blue",
    "x-public",
    "*-public",
    "https://keys.example/v1/containers/7",
    "public",
    "192.0.2.7",
    "10.1.2.3",
    "2001:DB8:0::1",
];

/// A cluster without the policy of annotations, which would refuse some values first.
struct Harness {
    _cluster: Cluster,
    client: Client,
    conf: CloudConf,
}

#[derive(Clone, Default)]
struct Try {
    annotations: Vec<(String, String)>,
    load_balancer_ip: Option<String>,
}

impl Try {
    fn object(&self) -> anyhow::Result<Service> {
        let annotations: serde_json::Map<_, _> =
            self.annotations.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        Ok(serde_json::from_value(json!({
            "metadata": {"generateName": "web-", "annotations": annotations},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerIP": self.load_balancer_ip},
        }))?)
    }

    fn view(&self, namespace: &str) -> ServiceView {
        ServiceView {
            namespace: namespace.into(),
            name: "web".into(),
            kind: ServiceType::LoadBalancer,
            annotations: self.annotations.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
            load_balancer_ip: self.load_balancer_ip.as_deref().map(Into::into),
            ip_families: vec![IpFamily::V4],
            ..ServiceView::default()
        }
    }
}

impl Harness {
    async fn new() -> anyhow::Result<Self> {
        let cluster = Cluster::start().await?;
        let client = cluster.client(&Identity::Admin).await?;
        let conf = decode(&[Source::new("cloud.conf", CONF)])
            .map_err(|problems| anyhow::anyhow!("{problems:?}"))?
            .conf;
        for name in NAMESPACES {
            create_namespace(&client, name).await?;
        }
        Ok(Self { _cluster: cluster, client, conf })
    }

    fn services(&self, namespace: &str) -> Api<Service> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Puts the policy in force.
    async fn enforce(&self) -> anyhow::Result<()> {
        let manifest = policy::manifest(&self.conf)?.context("there are rules")?;
        apply_manifest(&self.client, &manifest).await?;
        let port = RULES.iter().find(|row| row.key == "port-id").context("a rule for ports")?;
        let wrong =
            Try { annotations: vec![(port.annotation.key.to_owned(), "bad".to_owned())], ..Try::default() };
        let verdict = async || self.verdict("tenancyothers", &wrong).await;
        eventually("the policy is in force", verdict).await.map(drop)
    }

    /// The message of the policy; `None` if the Service is admitted, or refused by the API server itself.
    async fn verdict(&self, namespace: &str, one: &Try) -> anyhow::Result<Option<String>> {
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        denied(self.services(namespace).create(&dry, &one.object()?).await)
    }
}

fn denied<T>(result: kube::Result<T>) -> anyhow::Result<Option<String>> {
    match result {
        Ok(_object) => Ok(None),
        Err(kube::Error::Api(status)) if status.message.contains(policy::NAME) => {
            let (_, message) = status.message.split_once("denied request: ").context("no message")?;
            Ok(Some(message.to_owned()))
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn tries() -> Vec<Try> {
    let mut tries: Vec<Try> = RULES
        .iter()
        .flat_map(|row| VALUES.map(|value| (row.annotation.key.to_owned(), value.to_owned())))
        .map(|one| Try { annotations: vec![one], ..Try::default() })
        .collect();
    for address in ["192.0.2.7", "192.0.3.7", "10.1.2.3", "2001:db8::1"] {
        for internal in ["true", "false"] {
            let key = "service.beta.kubernetes.io/openstack-internal-load-balancer";
            tries.push(Try {
                annotations: vec![(key.to_owned(), internal.to_owned())],
                load_balancer_ip: Some(address.to_owned()),
            });
        }
    }
    let all = RULES.iter().map(|row| (row.annotation.key.to_owned(), "bad".to_owned())).collect();
    tries.push(Try { annotations: all, load_balancer_ip: Some("198.51.100.7".to_owned()) });
    tries
}

#[tokio::test]
async fn the_policy_refuses_what_the_controller_refuses_and_in_its_words() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    site.enforce().await?;
    let (mut refused, mut wrong) = (0, Vec::new());
    for namespace in NAMESPACES {
        for one in tries() {
            let said = site.verdict(namespace, &one).await?;
            let problems = forbidden(&one.view(namespace), &site.conf);
            let words = problems.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ");
            refused += usize::from(said.is_some());
            // A line feed is shown as a space.
            let agrees = match &said {
                None => problems.is_empty(),
                Some(said) => *said == words || words.replace("\\n", " ") == *said,
            };
            if !agrees {
                wrong.push(format!(
                    "{namespace} {:?} {:?}: {said:?}, not {words:?}",
                    one.annotations, one.load_balancer_ip
                ));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(refused > 100, "{refused} were refused");

    // What a Service said before the rule came does not keep it from being edited; a new value is judged.
    let services = site.services("tenancyothers");
    let key = RULES[6].annotation.key;
    let old = Api::<ValidatingAdmissionPolicyBinding>::all(site.client.clone());
    old.delete(policy::NAME, &kube::api::DeleteParams::default()).await?;
    let mut service =
        Try { annotations: vec![(key.to_owned(), "bad".to_owned())], ..Try::default() }.object()?;
    service.metadata.name = Some("before".to_owned());
    eventually("the policy is no longer in force", async || {
        let created = services.create(&PostParams::default(), &service).await;
        Ok(denied(created)?.is_none().then_some(()))
    })
    .await?;
    let binding: ValidatingAdmissionPolicyBinding = serde_json::from_value(json!({
        "metadata": {"name": policy::NAME},
        "spec": {"policyName": policy::NAME, "validationActions": ["Deny"]},
    }))?;
    old.create(&PostParams::default(), &binding).await?;
    let set = |key: &str, value: &str| Patch::Merge(json!({"metadata": {"annotations": {key: value}}}));
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    let verdict = async || denied(services.patch("before", &dry, &set(key, "worse")).await);
    eventually("the policy is in force again", verdict).await?;
    services.patch("before", &PatchParams::default(), &set("team", "blue")).await?;
    Ok(())
}
