//! Nova: servers, flavors, availability zones, interfaces and quotas. Read-only.

mod flavor;
mod server;

pub use self::{
    flavor::Flavor,
    server::{
        AddressType, AvailabilityZone, InterfaceAttachment, InterfaceIp, PowerState, Server, ServerAddress,
        ServerFlavor, ServerQuery, ServerStatus,
    },
};

use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::{
    Client, Error, FlavorId, Pages, ProjectId, ServerId, Service, call::Call, identity::parse_versions,
};

/// A microversion of Nova.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Microversion {
    /// The major number, 2 in all releases so far.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

impl Microversion {
    /// The first microversion in which a server contains the name of its flavor instead of the id.
    pub const FLAVOR_IN_SERVER: Self = Self { major: 2, minor: 47 };
    /// The first microversion in which a flavor contains its extra specs.
    pub const EXTRA_SPECS_IN_FLAVOR: Self = Self { major: 2, minor: 61 };
}

/// Nova's API, at microversion 2.1 unless another one is chosen.
#[derive(Debug, Clone)]
pub struct Compute {
    client: Client,
    microversion: Option<Microversion>,
}

impl Compute {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, microversion: None }
    }

    /// The same API at another microversion. A cloud that does not support it rejects every call: see [`Compute::microversions`].
    #[must_use]
    pub fn at(&self, microversion: Microversion) -> Self {
        Self { microversion: Some(microversion), ..self.clone() }
    }

    fn get(&self, request: &'static str, path: &[&str]) -> Call {
        let call = Call::get(Service::Compute, request, path);
        let Some(Microversion { major, minor }) = self.microversion else { return call };
        match HeaderValue::try_from(format!("compute {major}.{minor}")) {
            Ok(value) => call.header(HeaderName::from_static("openstack-api-version"), value),
            Err(_never) => call,
        }
    }

    /// The lowest and the highest microversion that the cloud supports; `None` if it supports none.
    ///
    /// # Errors
    ///
    /// [`Error`] if the call fails or the answer is no version document.
    pub async fn microversions(&self) -> Result<Option<(Microversion, Microversion)>, Error> {
        let call = Call::get(Service::Compute, "version_get", &[]);
        let measured = self.client.metrics().start(call.request);
        let versions = self.client.run(&call).await.and_then(|answered| {
            parse_versions(&answered.answer.body).map_err(|why| answered.not_understood(&why, "the version"))
        });
        let range = measured.end(versions)?.iter().find_map(|version| {
            let low = version.min_microversion?;
            let high = version.max_microversion?;
            Some((Microversion { major: low.0, minor: low.1 }, Microversion { major: high.0, minor: high.1 }))
        });
        Ok(range)
    }

    /// A server.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `NotFound` only if Nova itself reports that the server does not exist.
    pub async fn server(&self, id: &ServerId) -> Result<Server, Error> {
        self.client.fetch(self.get("server_get", &["servers", id.as_str()]), "server").await
    }

    /// The servers that match the query, in pages.
    pub fn servers(&self, query: &ServerQuery) -> Pages<Server> {
        self.client.pages(query.apply(self.get("server_list", &["servers", "detail"])))
    }

    /// The interfaces of a server.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn interfaces(&self, id: &ServerId) -> Result<Vec<InterfaceAttachment>, Error> {
        let call =
            self.get("server_interface_list", &["servers", id.as_str(), "os-interface"]).answered_by_list();
        self.client.fetch(call, "interfaceAttachments").await
    }

    /// A flavor.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn flavor(&self, id: &FlavorId) -> Result<Flavor, Error> {
        self.client.fetch(self.get("flavor_get", &["flavors", id.as_str()]), "flavor").await
    }

    /// All flavors, in pages.
    pub fn flavors(&self) -> Pages<Flavor> {
        self.client.pages(self.get("flavor_list", &["flavors", "detail"]))
    }

    /// The availability zones.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn availability_zones(&self) -> Result<Vec<AvailabilityZone>, Error> {
        self.client
            .fetch(self.get("availability_zone_list", &["os-availability-zone"]), "availabilityZoneInfo")
            .await
    }

    /// The quota of a project by resource; -1 means unlimited. Values that are not integers are omitted.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn quota(&self, project: &ProjectId) -> Result<Vec<(String, i64)>, Error> {
        let call = self.get("quota_get", &["os-quota-sets", project.as_str()]);
        let quota: Map<String, Value> = self.client.fetch(call, "quota_set").await?;
        Ok(quota.into_iter().filter_map(|(key, value)| Some((key, value.as_i64()?))).collect())
    }
}
