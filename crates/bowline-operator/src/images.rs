//! The images of managers: OpenShift's file of them, by the names it uses. Reads a text, not a file.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::platform::Platform;

/// Why an image is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImagesError {
    /// The text is not a JSON object of texts.
    #[error("images.json: line {line}, column {column}: wanted an object whose values are images")]
    NotImages {
        /// Where.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// A value is not a text.
    #[error("images.json: {key}: wanted an image in double quotes")]
    NotText {
        /// The key.
        key: String,
    },
    /// The platform's image is missing.
    #[error("{provider}: missed images in config: {field}: non zero value required")]
    Missing {
        /// The platform.
        provider: String,
        /// What is missing.
        field: &'static str,
    },
}

/// Images by the keys of the file. Keys that nobody asks for do no harm.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Images(BTreeMap<String, String>);

impl Images {
    /// Reads the file's text. Of a key that is there twice, the last counts.
    ///
    /// # Errors
    ///
    /// If it is not a JSON object whose values are texts.
    pub fn parse(text: &str) -> Result<Self, ImagesError> {
        let values: BTreeMap<String, Value> = serde_json::from_str(text)
            .map_err(|error| ImagesError::NotImages { line: error.line(), column: error.column() })?;
        let image = |(key, value): (String, Value)| match value {
            Value::String(image) => Ok((key, image)),
            _ => Err(ImagesError::NotText { key }),
        };
        values.into_iter().map(image).collect::<Result<_, _>>().map(Self)
    }

    /// The image of a platform's manager.
    ///
    /// # Errors
    ///
    /// If the file has none, or there is no manager for the platform.
    pub fn manager(&self, platform: &Platform) -> Result<&str, ImagesError> {
        let key = match platform {
            Platform::Aws => "cloudControllerManagerAWS",
            Platform::Azure => "cloudControllerManagerAzure",
            Platform::Gcp => "cloudControllerManagerGCP",
            Platform::IbmCloud => "cloudControllerManagerIBM",
            Platform::Nutanix => "cloudControllerManagerNutanix",
            Platform::OpenStack => "cloudControllerManagerOpenStack",
            Platform::PowerVs => "cloudControllerManagerPowerVS",
            Platform::VSphere => "cloudControllerManagerVSphere",
            _ => "",
        };
        self.get(key, platform, "CloudControllerManager")
    }

    /// The image of Azure's agent on each node.
    ///
    /// # Errors
    ///
    /// If the file has none.
    pub fn azure_node_manager(&self) -> Result<&str, ImagesError> {
        self.get("cloudNodeManagerAzure", &Platform::Azure, "CloudNodeManager")
    }

    /// The image of the operator itself, which Azure's managers begin with.
    ///
    /// # Errors
    ///
    /// If the file has none.
    pub fn operator(&self, platform: &Platform) -> Result<&str, ImagesError> {
        self.get("cloudControllerManagerOperator", platform, "CloudControllerManagerOperator")
    }

    fn get(&self, key: &str, platform: &Platform, field: &'static str) -> Result<&str, ImagesError> {
        let image = self.0.get(key).map(String::as_str).filter(|image| !image.is_empty());
        image.ok_or_else(|| ImagesError::Missing { provider: platform.name(), field })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_upstream_reads_them() {
        let whole = Images::parse(r#"{ "cloudControllerManagerOperator": "op", "cloudControllerManagerAWS": "aws", "cloudControllerManagerOpenStack": "os" }"#).unwrap();
        assert_eq!(whole.operator(&Platform::Azure), Ok("op"));
        assert_eq!(whole.manager(&Platform::Aws), Ok("aws"));
        assert_eq!(whole.manager(&Platform::OpenStack), Ok("os"));
        let partial = Images::parse(r#"{ "cloudControllerManagerAWS": "aws" }"#).unwrap();
        assert_eq!(partial.manager(&Platform::Aws), Ok("aws"));
        let twice = Images::parse(
            r#"{ "cloudControllerManagerAWS": "aws", "cloudControllerManagerAWS": "different" }"#,
        )
        .unwrap();
        assert_eq!(twice.manager(&Platform::Aws), Ok("different"));
        let unknown =
            Images::parse(r#"{ "cloudControllerManagerUnknown": "x", "cloudControllerManagerAWS": "aws" }"#)
                .unwrap();
        assert_eq!(unknown.manager(&Platform::Aws), Ok("aws"));
    }

    #[test]
    fn broken_files_are_refused_with_the_place() {
        let error = Images::parse("{\n\t\"cloudControllerManagerAWS\": BAD,\n}").unwrap_err();
        assert!(matches!(error, ImagesError::NotImages { line: 2, .. }), "{error}");
        assert_eq!(Images::parse("{\"a\": 1}"), Err(ImagesError::NotText { key: "a".to_owned() }));
    }

    #[test]
    fn a_missing_image_is_told_in_upstreams_words() {
        let error = Images::default().manager(&Platform::OpenStack).unwrap_err();
        assert_eq!(
            error.to_string(),
            "openstack: missed images in config: CloudControllerManager: non zero value required"
        );
        assert!(
            Images::parse(r#"{ "cloudControllerManagerAWS": "" }"#).unwrap().manager(&Platform::Aws).is_err()
        );
        assert!(Images::default().azure_node_manager().is_err());
        assert!(Images::default().manager(&Platform::None).is_err());
    }

    #[test]
    fn every_platform_with_a_manager_has_its_own_key() {
        let text = r#"{"cloudControllerManagerAWS":"AWS","cloudControllerManagerAzure":"Azure","cloudControllerManagerGCP":"GCP","cloudControllerManagerIBM":"IBMCloud","cloudControllerManagerNutanix":"Nutanix","cloudControllerManagerOpenStack":"OpenStack","cloudControllerManagerPowerVS":"PowerVS","cloudControllerManagerVSphere":"VSphere","cloudNodeManagerAzure":"node"}"#;
        let images = Images::parse(text).unwrap();
        let found: Vec<_> = Platform::all()
            .filter(|platform| images.manager(platform) == Ok(platform.openshift_name()))
            .collect();
        assert_eq!(found.len(), 8, "{found:?}");
        assert_eq!(images.azure_node_manager(), Ok("node"));
    }
}
