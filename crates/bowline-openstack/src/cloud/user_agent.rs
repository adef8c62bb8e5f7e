//! What our requests say in `User-Agent`: the product that OpenStack's operators know, and what `--user-agent` puts before
//! it. Pure.

use bowline_cloud::CloudError;

/// The product's name in requests, which is that of the binary we take the place of.
const PRODUCT: &str = "openstack-cloud-controller-manager";

/// The whole header: each of `extra` goes before what there is, so that the last one comes first, as in OCCM.
pub(super) fn user_agent(version: &str, extra: &[String]) -> Result<String, CloudError> {
    let mut agent = format!("{PRODUCT}/{version} bowline/{}", env!("CARGO_PKG_VERSION"));
    for part in extra {
        if part.is_empty() || !part.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
            return Err(CloudError::invalid(format!(
                "--user-agent={part:?}: wanted printable ASCII that can stand in a header, and not nothing"
            )));
        }
        agent = format!("{part} {agent}");
    }
    Ok(agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(extra: &[&str]) -> Result<String, CloudError> {
        let extra: Vec<String> = extra.iter().map(|&part| part.to_owned()).collect();
        user_agent("v9", &extra)
    }

    #[test]
    fn the_last_extra_part_comes_first_and_each_is_kept_whole() {
        let own = concat!("openstack-cloud-controller-manager/v9 bowline/", env!("CARGO_PKG_VERSION"));
        assert_eq!(agent(&[]).unwrap(), own);
        assert_eq!(agent(&["a/1", "b (c, d)"]).unwrap(), format!("b (c, d) a/1 {own}"));
    }

    #[test]
    fn what_cannot_be_in_a_header_is_refused() {
        for part in ["", "a\nb", "ü", "a\tb"] {
            let error = agent(&["fine", part]).unwrap_err();
            assert!(error.to_string().contains("--user-agent"), "{error}");
        }
    }
}
