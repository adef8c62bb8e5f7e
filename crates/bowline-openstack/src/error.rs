//! Failures of the client in the classes of the framework. The only place where the two vocabularies meet.
//!
//! Nothing is decided here: a class says what happens next, and each class of the client has exactly one.

use bowline_cloud::{CloudError, ErrorClass};
use openstack_client::{Error, ErrorClass as ClientClass};

/// The class of the framework for a class of the client.
#[must_use]
pub fn class_of(class: ClientClass) -> ErrorClass {
    match class {
        ClientClass::Throttled => ErrorClass::Throttled,
        // Busy objects come to rest by themselves; both mean "observe again".
        ClientClass::Conflict | ClientClass::Busy => ErrorClass::Conflict,
        ClientClass::NotFound => ErrorClass::NotFound,
        // Neither a request that is wrong nor one that this cloud does not know becomes right by itself, and somebody has to change the
        // catalog or cloud.conf before a token is sent to an address without TLS.
        ClientClass::Invalid | ClientClass::Unsupported | ClientClass::Insecure => ErrorClass::Invalid,
        ClientClass::Unauthenticated => ErrorClass::Unauthenticated,
        ClientClass::Forbidden | ClientClass::Quota => ErrorClass::Forbidden,
        ClientClass::Fenced => ErrorClass::Fenced,
        // A class that is not known here yet is taken for one that time may mend: it is retried and proves nothing.
        _ => ErrorClass::Transient,
    }
}

/// A failed call as the framework sees it. The text of the client's error holds no secret and names the request's id.
#[must_use]
pub fn cloud_error(error: Error) -> CloudError {
    let text = match error.class() {
        ClientClass::Unauthenticated => format!("{error}. Check the credentials in [Global] of cloud.conf"),
        ClientClass::Insecure => {
            format!("{error}; [Global] allow-insecure-endpoints=true in cloud.conf sends it all the same")
        }
        _ => error.to_string(),
    };
    let mapped = CloudError::new(class_of(error.class()), text);
    let mapped = match error.retry_after() {
        Some(after) => mapped.retry_after(after),
        None => mapped,
    };
    mapped.caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_of_the_client_has_one_of_the_framework_and_only_not_found_is_not_found() {
        for (client, ours) in [
            (ClientClass::Transient, ErrorClass::Transient),
            (ClientClass::Throttled, ErrorClass::Throttled),
            (ClientClass::Conflict, ErrorClass::Conflict),
            (ClientClass::Busy, ErrorClass::Conflict),
            (ClientClass::NotFound, ErrorClass::NotFound),
            (ClientClass::Invalid, ErrorClass::Invalid),
            (ClientClass::Unsupported, ErrorClass::Invalid),
            (ClientClass::Unauthenticated, ErrorClass::Unauthenticated),
            (ClientClass::Forbidden, ErrorClass::Forbidden),
            (ClientClass::Quota, ErrorClass::Forbidden),
            (ClientClass::Fenced, ErrorClass::Fenced),
            (ClientClass::Insecure, ErrorClass::Invalid),
        ] {
            assert_eq!(class_of(client), ours, "{client}");
        }
    }
}
