//! The state file, read again for every answer, and the file in which calls that change the cloud are written down.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bowline_cloud::{CloudError, Ingress, NodeAddress};
use serde::{Deserialize, Serialize};

/// The `--cloud-config`: where the state is, and where calls are written down.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Files {
    state: PathBuf,
    calls: PathBuf,
}

/// The state file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct State {
    pub(crate) instances: BTreeMap<String, Machine>,
    pub(crate) ingress: BTreeMap<String, Vec<Ingress>>,
    pub(crate) routes: Vec<Seed>,
    errors: BTreeMap<String, String>,
}

/// One machine.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Machine {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) zone: String,
    pub(crate) region: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) addresses: Vec<NodeAddress>,
    pub(crate) shutdown: bool,
}

/// A route that is there before the manager starts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) cidr: String,
    #[serde(default)]
    pub(crate) blackhole: bool,
}

/// One line of what was asked of the cloud.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) op: String,
    pub(crate) target: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ports: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) failed: bool,
}

impl State {
    /// The error that the state file orders for an operation, or for it on one target.
    pub(crate) fn ordered(&self, op: &str, target: &str) -> Result<(), CloudError> {
        let text = self.errors.get(op).or_else(|| self.errors.get(&format!("{op}/{target}")));
        text.map_or(Ok(()), |text| Err(CloudError::transient(text)))
    }
}

/// The state and the calls.
#[derive(Debug)]
pub(crate) struct Script {
    state: PathBuf,
    calls: Mutex<File>,
    /// What an earlier manager has done to this cloud.
    pub(crate) earlier: Vec<Call>,
}

impl Script {
    pub(crate) fn open(files: Files) -> Result<Self, CloudError> {
        let calls = OpenOptions::new().read(true).append(true).create(true).open(&files.calls);
        let calls =
            calls.map_err(|error| CloudError::invalid(format!("{}: {error}", files.calls.display())))?;
        let earlier: Result<Vec<Call>, _> =
            BufReader::new(&calls).lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect();
        let mut earlier = earlier.map_err(|error: std::io::Error| CloudError::invalid(error.to_string()))?;
        earlier.retain(|call| !call.failed);
        Ok(Self { state: files.state, calls: Mutex::new(calls), earlier })
    }

    pub(crate) fn state(&self) -> Result<State, CloudError> {
        let read = || serde_json::from_slice(&fs::read(&self.state)?).map_err(std::io::Error::other);
        read().map_err(|error| CloudError::transient(format!("{}: {error}", self.state.display())))
    }

    /// Does what the state file orders for a call, and writes the call down.
    pub(crate) fn call(&self, mut call: Call, target: &str) -> Result<State, CloudError> {
        let state = self.state()?;
        let ordered = state.ordered(&call.op, target);
        call.failed = ordered.is_err();
        let line = serde_json::to_string(&call).map_err(|error| CloudError::transient(error.to_string()))?;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(calls, "{line}").map_err(|error| CloudError::transient(error.to_string()))?;
        ordered.map(|()| state)
    }
}
