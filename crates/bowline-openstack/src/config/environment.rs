//! The environment variables that count beside cloud.conf. They are read once, at start; credentials are never among them.

use std::collections::BTreeMap;

use openstack_client::ProxyVariables;
use openstack_client::clouds_yaml::Search;

/// The variables that count here.
const NAMES: [&str; 10] = [
    "OS_CCM_REGIONAL",
    "OS_CLIENT_CONFIG_FILE",
    "OS_CLOUD",
    "HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// What the environment says.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// What `variable` knows.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = NAMES.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
        Self(set.filter(|(_, value)| !value.is_empty()).collect())
    }

    fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    /// Whether provider IDs name the region: `OS_CCM_REGIONAL` is exactly `true`.
    #[must_use]
    pub fn regional(&self) -> bool {
        self.0.get("OS_CCM_REGIONAL").is_some_and(|value| value == "true")
    }

    /// The entry of clouds.yaml that `OS_CLOUD` names.
    #[must_use]
    pub fn cloud(&self) -> Option<String> {
        self.get("OS_CLOUD")
    }

    /// Where clouds.yaml is looked for; `file` is one that cloud.conf names, and wins over `OS_CLIENT_CONFIG_FILE`.
    #[must_use]
    pub fn search(&self, file: &str) -> Search {
        let usual = Search::usual(|name| self.get(name));
        if file.is_empty() { usual } else { usual.file(file) }
    }

    /// The proxies.
    #[must_use]
    pub fn proxies(&self) -> ProxyVariables {
        ProxyVariables::from_variables(|name| self.get(name))
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: the address of a proxy may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Environment {
        Environment::from_variables(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn only_the_exact_word_makes_provider_ids_regional() {
        for (value, wanted) in [("true", true), ("True", false), ("1", false), ("", false)] {
            assert_eq!(with("OS_CCM_REGIONAL", value).regional(), wanted, "{value}");
        }
    }

    #[test]
    fn the_number_of_polls_of_occm_has_no_effect() {
        assert!(with("OCCM_WAIT_LB_ACTIVE_STEPS", "5").0.is_empty(), "nothing waits for a count of polls");
    }

    #[test]
    fn the_file_of_cloud_conf_comes_before_the_one_of_the_environment() {
        let environment = with("OS_CLIENT_CONFIG_FILE", "/env.yaml");
        assert_eq!(
            environment.search("/conf.yaml").candidates().first().unwrap().to_str(),
            Some("/conf.yaml")
        );
        assert_eq!(environment.search("").candidates().first().unwrap().to_str(), Some("/env.yaml"));
    }

    #[test]
    fn credentials_and_proxies_in_the_environment_are_not_kept_or_shown() {
        let all = Environment::from_variables(|_| Some("s3cret".to_owned()));
        assert!(!all.0.contains_key("OS_PASSWORD"));
        assert!(!format!("{all:?}").contains("s3cret"));
    }
}
