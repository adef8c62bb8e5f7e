//! How the flags that a component runs with differ from those it must have: from the arguments of its mirror pod, say.

use super::{Level, Requirement, Want};

/// A flag that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it must be.
    pub requirement: Requirement,
    /// What it is; `None` is not given.
    pub found: Option<String>,
}

/// How arguments differ from what is required or advised. What only some clusters need is not asked for, nor is the value
/// of a flag that is of one's own choice.
#[must_use]
pub fn differences(requirements: &[Requirement], arguments: &[String]) -> Vec<Difference> {
    let asked = requirements.iter().filter(|requirement| requirement.level != Level::Conditional);
    let different = asked.filter_map(|requirement| {
        let found = value_of(arguments, requirement.flag);
        let is_right = match (&requirement.want, &found) {
            (Want::Value(wanted), Some(found)) => has(requirement.flag, wanted, found),
            (Want::ValueOrAbsent(wanted), Some(found)) => wanted == found || found.is_empty(),
            (Want::Absent, Some(found)) => found.is_empty(),
            (Want::Chosen(_), Some(_)) | (Want::ValueOrAbsent(_) | Want::Absent, None) => true,
            (Want::Value(_) | Want::Chosen(_), None) => false,
        };
        (!is_right).then(|| Difference { requirement: requirement.clone(), found })
    });
    different.collect()
}

/// A list of gates may have others in it, in any order.
fn has(flag: &str, wanted: &str, found: &str) -> bool {
    if flag != "feature-gates" {
        return wanted == found;
    }
    let given: Vec<&str> = found.split(',').map(str::trim).collect();
    wanted.split(',').all(|gate| given.contains(&gate))
}

/// The value of a flag: the last one counts. `--flag=value`, `--flag value` and `-flag=value` are the same.
pub(crate) fn value_of(arguments: &[String], flag: &str) -> Option<String> {
    let mut found = None;
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        let Some(name) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else { continue };
        match name.split_once('=') {
            Some((name, value)) if name == flag => found = Some(value.to_owned()),
            None if name == flag => {
                let value = rest.peek().filter(|next| !next.starts_with('-'));
                found = Some(value.map(|value| (*value).clone()).unwrap_or_default());
            }
            _ => {}
        }
    }
    found
}
