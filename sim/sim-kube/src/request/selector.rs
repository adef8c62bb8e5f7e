//! Label and field selectors: parsing and matching. Which fields a kind offers is decided in `strategy::fields`.

use crate::status::ApiError;

/// One condition on one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    pub(crate) test: Test,
}

/// How the key's value is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
    Greater(i64),
    Less(i64),
}

impl Requirement {
    /// Whether a value (or its absence) satisfies the condition.
    pub(crate) fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|text| text.parse::<i64>().ok());
        match &self.test {
            Test::In(wanted) => value.is_some_and(|found| wanted.iter().any(|one| one == found)),
            Test::NotIn(unwanted) => value.is_none_or(|found| !unwanted.iter().any(|one| one == found)),
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::Greater(limit) => number().is_some_and(|found| found > *limit),
            Test::Less(limit) => number().is_some_and(|found| found < *limit),
        }
    }
}

/// Reads a label selector.
pub(crate) fn labels(text: &str) -> Result<Vec<Requirement>, ApiError> {
    split_outside_brackets(text).into_iter().map(|part| label(part.trim(), text)).collect()
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(move |sign: char| {
        depth += i32::from(sign == '(') - i32::from(sign == ')');
        sign == ',' && depth == 0
    })
    .filter(|part| !part.trim().is_empty())
    .collect()
}

fn label(part: &str, whole: &str) -> Result<Requirement, ApiError> {
    let requirement = |key: &str, test| Ok(Requirement { key: key.trim().to_owned(), test });
    if let Some((key, values)) = set(part, " notin ").or_else(|| set(part, " notin(")) {
        return requirement(key, Test::NotIn(values));
    }
    if let Some((key, values)) = set(part, " in ").or_else(|| set(part, " in(")) {
        return requirement(key, Test::In(values));
    }
    if let Some((key, value)) = part.split_once("!=") {
        return requirement(key, Test::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return requirement(key, Test::In(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = part.split_once('>') {
        return requirement(key, Test::Greater(number(value, whole)?));
    }
    if let Some((key, value)) = part.split_once('<') {
        return requirement(key, Test::Less(number(value, whole)?));
    }
    if let Some(key) = part.strip_prefix('!') {
        return requirement(key, Test::Missing);
    }
    if part.contains(char::is_whitespace) {
        return Err(unreadable(whole));
    }
    requirement(part, Test::Exists)
}

fn set<'a>(part: &'a str, operator: &str) -> Option<(&'a str, Vec<String>)> {
    let (key, rest) = part.split_once(operator)?;
    let inside = rest.trim().trim_start_matches('(').strip_suffix(')')?;
    Some((key, inside.split(',').map(|value| value.trim().to_owned()).collect()))
}

fn number(value: &str, whole: &str) -> Result<i64, ApiError> {
    value.trim().parse().map_err(|_| unreadable(whole))
}

fn unreadable(whole: &str) -> ApiError {
    ApiError::bad_request(format!(
        "unable to parse requirement: couldn't parse the selector string \"{whole}\""
    ))
}

/// Reads a field selector.
pub(crate) fn fields(text: &str) -> Result<Vec<Requirement>, ApiError> {
    let mut requirements = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (key, test) = if let Some((key, value)) = part.split_once("!=") {
            (key, Test::NotIn(vec![value.to_owned()]))
        } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            (key, Test::In(vec![value.to_owned()]))
        } else {
            let message = format!("invalid selector: '{text}'; can't understand '{part}'");
            return Err(ApiError::bad_request(message));
        };
        requirements.push(Requirement { key: key.to_owned(), test });
    }
    Ok(requirements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(selector: &str, labels_of: &[(&str, &str)]) -> bool {
        labels(selector).unwrap().iter().all(|requirement| {
            requirement
                .matches(labels_of.iter().find(|(key, _)| *key == requirement.key).map(|(_, value)| *value))
        })
    }

    #[test]
    fn label_selectors_of_every_form_match_as_they_should() {
        let app = [("app", "web"), ("tier", "3")];
        for yes in [
            "",
            "app=web",
            "app==web",
            "app in (web, db)",
            "app notin (db)",
            "!gone",
            "app",
            "tier>2",
            "x!=y",
        ] {
            assert!(matching(yes, &app), "{yes}");
        }
        for no in
            ["app=db", "app in (db)", "app notin (web)", "!app", "gone", "tier<3", "app!=web", "app=web,gone"]
        {
            assert!(!matching(no, &app), "{no}");
        }
    }

    #[test]
    fn a_selector_nobody_understands_is_a_bad_request() {
        assert_eq!(labels("a b").unwrap_err().code, 400);
        assert_eq!(fields("metadata.name").unwrap_err().code, 400);
    }
}
