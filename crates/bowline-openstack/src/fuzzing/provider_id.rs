//! Any text as a provider ID.

use super::Held;
use crate::instances::provider_id::{NoProviderId, ProviderId};

/// Bytes as a provider ID, and as the two parts of one.
///
/// # Errors
///
/// If what was read is not read as the same again when it is written, or an error does not quote the text.
pub fn provider_id(bytes: &[u8]) -> Held {
    let text = String::from_utf8_lossy(bytes);
    as_it_is(&text)?;
    as_it_is(&format!("openstack://{text}"))?;
    as_it_is(&format!("openstack:///{text}"))
}

fn as_it_is(text: &str) -> Held {
    match ProviderId::parse(text) {
        Ok(read) => written_again(&read, text),
        Err(NoProviderId::OtherCloud(said) | NoProviderId::Malformed(said)) if said == text => Ok(()),
        Err(other) => Err(format!("the error {other:?} is about another text than {text:?}")),
    }
}

fn written_again(read: &ProviderId, text: &str) -> Held {
    let written = read.to_string();
    if ProviderId::parse(&written).as_ref() != Ok(read) {
        return Err(format!("{text:?} is {read:?}, is written as {written:?} and is not that any more"));
    }
    if text.starts_with("openstack://") && written != text {
        return Err(format!("{text:?} is written as {written:?}"));
    }
    if !text.ends_with(read.server.as_str()) {
        return Err(format!("server {} is not at the end of {text:?}", read.server));
    }
    Ok(())
}
