//! Fills `{{name}}` in a text: all that our configuration files need.
//!
//! A name without a value is an error, so that no half-filled file reaches a service.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};

/// The values by name.
pub(crate) type Values = BTreeMap<String, String>;

/// The text with every placeholder replaced. A value is taken as it is, without the line end of a last line.
pub(crate) fn fill(text: &str, values: &Values) -> anyhow::Result<String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").context("a {{ without its }}")?;
        let value = values.get(name).ok_or_else(|| anyhow!("no value for {{{{{name}}}}}"))?;
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_placeholder_is_filled_also_twice_and_single_braces_stay() {
        let filled =
            fill("a {x} {{one}}{{two words}}, {{one}} }}", &values(&[("one", "1"), ("two words", "2")]));
        assert_eq!(filled.unwrap(), "a {x} 12, 1 }}");
    }

    #[test]
    fn a_value_is_not_filled_again() {
        assert_eq!(fill("{{a}}", &values(&[("a", "{{b}}"), ("b", "no")])).unwrap(), "{{b}}");
    }

    #[test]
    fn a_placeholder_without_a_value_is_named() {
        let error = fill("{{port nothing}}", &Values::new()).unwrap_err().to_string();
        assert_eq!(error, "no value for {{port nothing}}");
        assert!(fill("{{open", &Values::new()).is_err());
    }
}
