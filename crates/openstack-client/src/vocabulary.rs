//! Shared types of the APIs: enumerations that keep unknown values, and updates of single fields.

use serde::{Serialize, Serializer};

/// Defines an enumeration of API values. Unknown values are kept unchanged, because services add values and clouds run their own drivers.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A value that this crate does not know.
            Other(Box<str>),
        }

        impl $name {
            /// The value as the API writes it.
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
            /// The value of a field that the answer omits: empty.
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

/// An update of a nullable field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Change<T> {
    /// The field is omitted from the request and keeps its value.
    #[default]
    Keep,
    /// The field is set to null.
    Clear,
    /// The field is set to this value.
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
