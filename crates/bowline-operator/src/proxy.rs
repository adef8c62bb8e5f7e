//! The variables that let a pod reach the cloud through a proxy.

use k8s_openapi::api::core::v1::{EnvVar, PodSpec};
use serde::Deserialize;

/// The cluster's proxy, as `Proxy/cluster` has it in its status. Empty is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxySettings {
    /// For HTTP.
    pub http_proxy: String,
    /// For HTTPS.
    pub https_proxy: String,
    /// What is reached without it.
    pub no_proxy: String,
}

impl ProxySettings {
    /// The variables that have a value.
    #[must_use]
    pub fn environment(&self) -> Vec<EnvVar> {
        let all = [
            ("HTTP_PROXY", &self.http_proxy),
            ("HTTPS_PROXY", &self.https_proxy),
            ("NO_PROXY", &self.no_proxy),
        ];
        let variable = |(name, value): (&str, &String)| EnvVar {
            name: name.to_owned(),
            value: Some(value.clone()),
            value_from: None,
        };
        all.into_iter().filter(|(_, value)| !value.is_empty()).map(variable).collect()
    }

    /// A pod whose containers have the variables, at the end and once each. Init containers do not talk to the cloud.
    #[must_use]
    pub fn applied_to(&self, pod: &PodSpec) -> PodSpec {
        let mut pod = pod.clone();
        let ours = self.environment();
        if ours.is_empty() {
            return pod;
        }
        for container in &mut pod.containers {
            let variables = container.env.get_or_insert_default();
            variables.retain(|known| ours.iter().all(|new| new.name != known.name));
            variables.extend(ours.iter().cloned());
        }
        pod
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(env: &Value) -> PodSpec {
        serde_json::from_value(json!({
            "containers": [{ "name": "a", "env": env }, { "name": "b" }],
            "initContainers": [{ "name": "i" }],
        }))
        .unwrap()
    }

    fn settings(value: Value) -> ProxySettings {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_container_gets_the_variables_that_have_a_value() {
        let cases = [
            ("none", ProxySettings::default(), vec![]),
            ("empty", settings(json!({ "httpProxy": "", "httpsProxy": "", "noProxy": "" })), vec![]),
            ("http", settings(json!({ "httpProxy": "http://p" })), vec![("HTTP_PROXY", "http://p")]),
            ("https", settings(json!({ "httpsProxy": "https://p" })), vec![("HTTPS_PROXY", "https://p")]),
            ("no", settings(json!({ "noProxy": "10.0.0.0/8" })), vec![("NO_PROXY", "10.0.0.0/8")]),
            (
                "all",
                settings(json!({ "httpProxy": "h", "httpsProxy": "s", "noProxy": "n" })),
                vec![("HTTP_PROXY", "h"), ("HTTPS_PROXY", "s"), ("NO_PROXY", "n")],
            ),
        ];
        for (name, proxy, wanted) in cases {
            let before = pod(&json!([{ "name": "X", "value": "y" }]));
            let after = proxy.applied_to(&before);
            let env = |index: usize| -> Vec<(String, String)> {
                let all = after.containers[index].env.iter().flatten();
                all.map(|variable| (variable.name.clone(), variable.value.clone().unwrap())).collect()
            };
            let wanted: Vec<_> =
                wanted.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(env(0)[0], ("X".to_owned(), "y".to_owned()), "{name}: what was there stays");
            assert_eq!(env(0)[1..], wanted, "{name}");
            assert_eq!(env(1), wanted, "{name}");
            assert_eq!(after.init_containers, before.init_containers, "{name}");
            assert_eq!(
                before,
                pod(&json!([{ "name": "X", "value": "y" }])),
                "{name}: the input is as it was"
            );
        }
    }

    #[test]
    fn applying_twice_is_applying_once() {
        let proxy = settings(json!({ "httpProxy": "h" }));
        let once = proxy.applied_to(&pod(&json!([])));
        assert_eq!(proxy.applied_to(&once), once);
        let other = settings(json!({ "httpProxy": "other" })).applied_to(&once);
        assert_eq!(other.containers[0].env.as_ref().unwrap().len(), 1);
    }
}
