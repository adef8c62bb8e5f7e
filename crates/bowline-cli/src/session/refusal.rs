//! What the API server refused, in words for people: its own, and the right that it takes. Pure.

use kube::core::Status;

/// What the API server said; where no answer came, each cause.
pub(crate) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 401 => {
            "the API server does not know the credentials of the kubeconfig; they may have expired (401)"
                .to_owned()
        }
        kube::Error::Api(status) if status.message.is_empty() => {
            format!("the API server answers {} {}", status.code, status.reason)
        }
        kube::Error::Api(status) => status.message.clone(),
        other => in_full(other),
    }
}

/// The same with the right that it takes, where that is what is missing.
pub(crate) fn with_right(error: &kube::Error, right: &str) -> String {
    let said = said(error);
    if is_refusal(error) { format!("{said}; it takes the right to {right}") } else { said }
}

/// Whether a right is missing. Admission forbids too, in other words.
pub(crate) fn is_refusal(error: &kube::Error) -> bool {
    let lacks_right = |status: &Status| status.is_forbidden() && status.message.contains(" cannot ");
    matches!(error, kube::Error::Api(status) if lacks_right(status))
}

/// An error with what caused it, which is where the reason stands.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut words: Vec<String> = causes.map(ToString::to_string).collect();
    words.dedup_by(|later, earlier| earlier.contains(later.as_str()));
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, reason: &str, message: &str) -> kube::Error {
        kube::Error::Api(Status::failure(message, reason).with_code(code).boxed())
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_api_server_and_with_the_right_that_it_takes() {
        let words = "nodes is forbidden: User \"ann\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
        let told = with_right(&answer(403, "Forbidden", words), "list nodes");
        assert_eq!(told, format!("{words}; it takes the right to list nodes"));
    }

    #[test]
    fn what_is_no_matter_of_rights_names_none() {
        let told = |code, reason: &str, message: &str| with_right(&answer(code, reason, message), "get x");
        assert_eq!(told(404, "NotFound", "services \"web\" not found"), "services \"web\" not found");
        let denied = "admission webhook \"w.example\" denied the request: not on Fridays";
        assert_eq!(told(403, "Forbidden", denied), denied);
        assert_eq!(told(500, "InternalError", ""), "the API server answers 500 InternalError");
        assert!(told(401, "Unauthorized", "Unauthorized").contains("does not know the credentials"));
    }
}
