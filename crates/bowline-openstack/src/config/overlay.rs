//! clouds.yaml over cloud.conf, and the options of authentication that come out of both. Pure.
//!
//! With `use-clouds`, what is empty in `[Global]` is filled from the entry. With `cloud`, user, project and the like come
//! from the entry alone, as OCCM does it whatever its documentation says; what cloud.conf says about them is told to be
//! without effect.

#[cfg(test)]
mod tests;

use openstack_client::AuthOptions;
use openstack_client::clouds_yaml::CloudEntry;

use super::keys::{self, Field, Section};
use super::model::{CloudConf, Global};

/// Fills the empty fields of `[Global]` from an entry of clouds.yaml.
pub(super) fn fill(global: &mut Global, entry: &CloudEntry) {
    let auth = &entry.auth;
    for (field, value) in [
        (&mut global.auth_url, &auth.auth_url),
        (&mut global.username, &auth.username),
        (&mut global.user_id, &auth.user_id),
        (&mut global.tenant_id, &auth.project_id),
        (&mut global.tenant_name, &auth.project_name),
        (&mut global.domain_id, &auth.domain_id),
        (&mut global.domain_name, &auth.domain_name),
        (&mut global.tenant_domain_id, &auth.project_domain_id),
        (&mut global.tenant_domain_name, &auth.project_domain_name),
        (&mut global.user_domain_id, &auth.user_domain_id),
        (&mut global.user_domain_name, &auth.user_domain_name),
        (&mut global.application_credential_id, &auth.application_credential_id),
        (&mut global.application_credential_name, &auth.application_credential_name),
        (&mut global.region, &entry.region),
        (&mut global.endpoint_type, &entry.interface),
        (&mut global.ca_file, &entry.ca_file),
        (&mut global.cert_file, &entry.cert_file),
        (&mut global.key_file, &entry.key_file),
    ] {
        if let (true, Some(value)) = (field.is_empty(), value) {
            field.clone_from(value);
        }
    }
    for (field, value) in [
        (&mut global.password, &auth.password),
        (&mut global.token, &auth.token),
        (&mut global.application_credential_secret, &auth.application_credential_secret),
    ] {
        if field.is_none() {
            field.clone_from(value);
        }
    }
}

/// The options that `[Global]` is.
#[must_use]
pub fn auth_options(global: &Global) -> AuthOptions {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    AuthOptions {
        auth_url: text(&global.auth_url),
        username: text(&global.username),
        user_id: text(&global.user_id),
        password: global.password.clone(),
        token: global.token.clone(),
        project_id: text(&global.tenant_id),
        project_name: text(&global.tenant_name),
        domain_id: text(&global.domain_id),
        domain_name: text(&global.domain_name),
        project_domain_id: text(&global.tenant_domain_id),
        project_domain_name: text(&global.tenant_domain_name),
        user_domain_id: text(&global.user_domain_id),
        user_domain_name: text(&global.user_domain_name),
        default_domain: None,
        application_credential_id: text(&global.application_credential_id),
        application_credential_name: text(&global.application_credential_name),
        application_credential_secret: global.application_credential_secret.clone(),
        trust_id: text(&global.trust_id),
        trustee_id: text(&global.trustee_id),
        trustee_password: global.trustee_password.clone(),
        system_scope: None,
    }
}

/// The options when `cloud` names an entry: the entry's own, at the address and with the trust of cloud.conf.
pub(super) fn named_options(global: &Global, entry: &CloudEntry) -> AuthOptions {
    let own = auth_options(global);
    AuthOptions {
        auth_url: own.auth_url.or_else(|| entry.auth.auth_url.clone()),
        trust_id: own.trust_id,
        trustee_id: own.trustee_id,
        trustee_password: own.trustee_password,
        ..entry.auth.clone()
    }
}

/// The keys that say something about credentials which a named entry replaces.
pub(super) fn replaced(conf: &CloudConf) -> Vec<&'static str> {
    let mut conf = conf.clone();
    let replaceable = keys::of(Section::Global)
        .filter(|key| key.clouds_yaml.starts_with("auth.") && key.name != "auth-url");
    replaceable
        .filter(|key| match key.field {
            Field::Text(field) => !field(&mut conf).is_empty(),
            Field::Secret(field) => field(&mut conf).is_some(),
            _ => false,
        })
        .map(|key| key.name)
        .collect()
}
