//! The finalizers of an object in packed form: every Service with a load balancer has one of 42 characters.

use std::fmt;

use serde::{Serialize, Serializer};

/// Separates two finalizers. A finalizer cannot contain it.
const BETWEEN: char = '\n';

/// Finalizers, in the order the object has them.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Finalizers(Box<str>);

impl Finalizers {
    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(BETWEEN).filter(|name| !name.is_empty())
    }

    /// Whether there are no finalizers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the object has this finalizer.
    #[must_use]
    pub fn contains(&self, finalizer: &str) -> bool {
        self.iter().any(|name| name == finalizer)
    }
}

impl<S: AsRef<str>> FromIterator<S> for Finalizers {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut text = String::new();
        for name in names {
            text.push_str(name.as_ref());
            text.push(BETWEEN);
        }
        text.pop();
        Self(text.into())
    }
}

impl<S: AsRef<str>, const N: usize> From<[S; N]> for Finalizers {
    fn from(names: [S; N]) -> Self {
        names.into_iter().collect()
    }
}

impl fmt::Debug for Finalizers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Finalizers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_come_back_in_order_and_none_is_none() {
        let two = Finalizers::from(["example.com/b", "a"]);
        assert_eq!(two.iter().collect::<Vec<_>>(), ["example.com/b", "a"]);
        assert!(two.contains("a") && !two.contains("b"));
        assert_eq!(serde_json::to_string(&two).unwrap(), r#"["example.com/b","a"]"#);
        assert!(Finalizers::default().is_empty() && Finalizers::default().iter().next().is_none());
        assert_eq!(Finalizers::from_iter(Vec::<String>::new()), Finalizers::default());
    }
}
