//! Extracts the user from the headers of a front proxy whose certificate is already verified. Pure.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::super::config::RequestHeaderNames;
use super::super::identity::User;

/// The user that the headers name; `None` if there is no user name.
pub(super) fn user(names: &RequestHeaderNames, headers: &HeaderMap) -> Option<User> {
    let name = first_value(&names.username_headers, headers)?;
    Some(User {
        name,
        uid: first_value(&names.uid_headers, headers).unwrap_or_default(),
        groups: names.group_headers.iter().flat_map(|header| values(header, headers)).collect(),
        extra: extra(&names.extra_header_prefixes, headers),
    })
}

fn values<'a>(header: &str, headers: &'a HeaderMap) -> impl Iterator<Item = String> + use<'a> {
    let all = headers.get_all(header.trim().to_ascii_lowercase());
    all.into_iter().filter_map(|value| value.to_str().ok()).map(str::to_owned)
}

fn first_value(names: &[String], headers: &HeaderMap) -> Option<String> {
    names.iter().filter_map(|name| values(name, headers).next()).find(|value| !value.is_empty())
}

fn extra(prefixes: &[String], headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for prefix in prefixes {
        let prefix = prefix.trim().to_ascii_lowercase();
        for (name, value) in headers {
            let (Some(key), Ok(value)) = (name.as_str().strip_prefix(&prefix), value.to_str()) else {
                continue;
            };
            extra.entry(percent_decoded(key)).or_default().push(value.to_owned());
        }
    }
    extra
}

/// Decodes percent-encoding (`%41` is `A`). Malformed sequences stay as they are.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_groups_and_extra_come_from_the_headers() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-remote-user", "jane"),
            ("x-remote-group", "dev"),
            ("x-remote-group", "ops"),
            ("x-remote-extra-acme.com%2fscope", "read"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let user = user(&RequestHeaderNames::default(), &headers).unwrap();
        assert_eq!(user.name, "jane");
        assert_eq!(user.groups, ["dev", "ops"]);
        assert_eq!(user.extra["acme.com/scope"], ["read"]);
    }

    #[test]
    fn without_a_user_name_there_is_no_user() {
        let mut headers = HeaderMap::new();
        headers.append("x-remote-group", "system:masters".parse().unwrap());
        assert_eq!(user(&RequestHeaderNames::default(), &headers), None);
    }

    #[test]
    fn a_broken_escape_stays_as_it_is() {
        assert_eq!(percent_decoded("a%4"), "a%4");
        assert_eq!(percent_decoded("%zz%41"), "%zzA");
        assert_eq!(percent_decoded("%ff"), "%ff", "not UTF-8");
    }
}
