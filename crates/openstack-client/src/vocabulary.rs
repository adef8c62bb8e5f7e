//! Words that several services share: enumerations that keep what they do not know, and changes to single fields.

use serde::{Serialize, Serializer};

/// An enumeration of words of an API. A word that is not known is kept as it is: services add words, and clouds run
/// drivers of their own.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A word that this crate does not know.
            Other(Box<str>),
        }

        impl $name {
            /// The word as the API writes it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.into()),
                }
            }
        }

        impl Default for $name {
            /// What an answer that leaves the field out says: nothing.
            fn default() -> Self {
                Self::Other("".into())
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
                output.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                let text = <Option<::std::borrow::Cow<'de, str>>>::deserialize(input)?;
                Ok(Self::from(text.as_deref().unwrap_or_default()))
            }
        }
    };
}
pub(crate) use words;

/// What an update does to a field that may be null.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Change<T> {
    /// The field is not mentioned and stays as it is.
    #[default]
    Keep,
    /// The field becomes null.
    Clear,
    /// The field becomes this.
    Set(T),
}

impl<T> Change<T> {
    pub(crate) fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep | Self::Clear => output.serialize_none(),
            Self::Set(value) => value.serialize(output),
        }
    }
}
