//! Provider IDs: `openstack:///<server>` and `openstack://<region>/<server>`. Text only; nothing is looked up here.

use std::fmt;

use openstack_client::ServerId;

const SCHEME: &str = "openstack";

/// Which server a Node is, and in which region if it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderId {
    /// The region; none in the form without one.
    pub region: Option<String>,
    /// The server.
    pub server: ServerId,
}

/// A text that names no server of OpenStack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProviderId {
    /// It belongs to another cloud.
    #[error("provider ID {0:?} is of another cloud: it does not begin with \"openstack://\"")]
    OtherCloud(String),
    /// It begins as one of ours, but does not go on like one.
    #[error(
        "provider ID {0:?} is not understood: wanted openstack:///<server> or openstack://<region>/<server>; a Node keeps \
         its provider ID for ever, so delete the Node and let its kubelet register it again"
    )]
    Malformed(String),
}

impl ProviderId {
    /// Reads a provider ID. What has no scheme at all (`/<server>`, `<region>/<server>`) is of old clusters and is ours.
    ///
    /// # Errors
    ///
    /// [`NoProviderId`] when it names no server of OpenStack.
    pub fn parse(text: &str) -> Result<Self, NoProviderId> {
        let rest = match text.split_once("://") {
            Some((SCHEME, rest)) => rest,
            Some(_) => return Err(NoProviderId::OtherCloud(text.to_owned())),
            None => text,
        };
        let malformed = || NoProviderId::Malformed(text.to_owned());
        let (region, server) = rest.split_once('/').ok_or_else(malformed)?;
        let server = ServerId::new(server).map_err(|_| malformed())?;
        Ok(Self { region: Some(region.to_owned()).filter(|region| !region.is_empty()), server })
    }

    /// Whether the server may be in `region`: it names none, or this one.
    #[must_use]
    pub fn may_be_in(&self, region: &str) -> bool {
        self.region.as_deref().is_none_or(|named| named == region)
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}://{}/{}", self.region.as_deref().unwrap_or_default(), self.server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "7b9cf879-7146-417c-abfd-cb4272f0c935";

    fn parsed(text: &str) -> Result<(Option<String>, String), NoProviderId> {
        ProviderId::parse(text).map(|id| (id.region, id.server.to_string()))
    }

    #[test]
    fn instance_id_from_provider_id_as_upstream_reads_it() {
        let without = Ok((None, ID.to_owned()));
        for (text, region) in [
            (format!("openstack:///{ID}"), None),
            (format!("openstack://RegionOne/{ID}"), Some("RegionOne")),
            (format!("/{ID}"), None),
            (format!("us-east-1/{ID}"), Some("us-east-1")),
        ] {
            assert_eq!(parsed(&text), Ok((region.map(str::to_owned), ID.to_owned())), "{text}");
        }
        assert_eq!(parsed(&format!("openstack:///{ID}")), without);
    }

    #[test]
    fn what_lacks_its_slash_or_has_too_many_is_malformed() {
        for text in [
            format!("openstack://{ID}"),
            ID.to_owned(),
            format!("openstack:///{ID}/"),
            format!("openstack:////{ID}"),
            "openstack:///".to_owned(),
            "openstack://".to_owned(),
            String::new(),
            format!("openstack:///{ID} "),
        ] {
            assert_eq!(parsed(&text), Err(NoProviderId::Malformed(text.clone())), "{text}");
        }
    }

    #[test]
    fn another_scheme_is_another_cloud() {
        for text in [format!("otherprovider:///{ID}"), "aws:///eu-1a/i-0".into(), format!("://{ID}")] {
            assert_eq!(parsed(&text), Err(NoProviderId::OtherCloud(text.clone())));
        }
    }

    #[test]
    fn both_forms_are_written_as_they_are_read() {
        for text in [format!("openstack:///{ID}"), format!("openstack://RegionOne/{ID}")] {
            assert_eq!(ProviderId::parse(&text).map(|id| id.to_string()), Ok(text));
        }
    }

    #[test]
    fn a_server_may_be_in_the_region_it_names_and_anywhere_if_it_names_none() {
        let regional = ProviderId::parse(&format!("openstack://RegionOne/{ID}")).expect("is one");
        assert!(regional.may_be_in("RegionOne"));
        assert!(!regional.may_be_in("RegionTwo") && !regional.may_be_in(""));
        assert!(ProviderId::parse(&format!("openstack:///{ID}")).expect("is one").may_be_in("RegionTwo"));
    }
}
