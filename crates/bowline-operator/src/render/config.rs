//! The object with the cloud configuration, named by what is in it. It never changes: another text is another object.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use super::error::RenderError;
use super::facts::RenderedConfig;
use super::names::{Names, config_name};
use super::object::Object;
use super::program::CONFIG_FILE;
use crate::api::CloudControllerManagerSpec;

/// Whether the configuration is in the resource itself, which is no place for secrets. Any other text may have some.
pub(super) fn is_inline(spec: &CloudControllerManagerSpec) -> bool {
    spec.cloud_config.as_ref().is_some_and(|config| config.inline.is_some())
}

/// A ConfigMap for a text that all may read, a Secret for one that came from elsewhere.
pub(super) fn object(
    spec: &CloudControllerManagerSpec,
    names: &Names<'_>,
    config: &RenderedConfig,
) -> Result<Object, RenderError> {
    let metadata = names.metadata(config_name(&names.base(), config));
    if is_inline(spec) {
        let data = [(CONFIG_FILE.to_owned(), config.text.clone())];
        let object =
            ConfigMap { metadata, data: Some(data.into()), immutable: Some(true), ..ConfigMap::default() };
        return Ok(Object::namespaced(&object)?);
    }
    let data = [(CONFIG_FILE.to_owned(), ByteString(config.text.clone().into_bytes()))];
    let object = Secret {
        metadata,
        data: Some(data.into()),
        immutable: Some(true),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    };
    Ok(Object::namespaced(&object)?)
}
