//! Decodes one page and determines the request for the next one. Pure.

use std::{fmt, marker::PhantomData};

use percent_encoding::percent_decode_str;
use serde::{
    Deserialize,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

use super::Listed;
use crate::{call::Call, decode};

/// A page of a list.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// `None` if the answer has no list of links.
    pub(crate) links: Option<Vec<Link>>,
}

/// A link to another page, such as `next`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Link {
    #[serde(default, deserialize_with = "decode::or_default")]
    rel: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    href: String,
}

/// The request for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The first page.
    First,
    /// The page after this marker, which is from a link of the service.
    Linked(String),
    /// The page after this marker. The service sent no links, but the previous page was full.
    Guessed(String),
    /// The page with these query parameters, which are from a link without a marker.
    Query(Vec<(String, String)>),
}

impl Step {
    /// Adds the parameters of this page to `call`.
    pub(crate) fn apply(&self, call: &mut Call, page_size: u32) {
        match self {
            Self::Query(pairs) => {
                call.query.clone_from(pairs);
                return;
            }
            Self::Linked(marker) | Self::Guessed(marker) => {
                call.query.push(("marker".to_owned(), marker.clone()));
            }
            Self::First => {}
        }
        call.query.push(("limit".to_owned(), page_size.to_string()));
    }

    /// Whether `page` repeats the previous page: then the service ignores markers, and its first answer was the complete list.
    pub(crate) fn is_repeated_by<T: Listed>(&self, page: &Page<T>) -> bool {
        let last = page.items.last().and_then(Listed::marker);
        matches!(self, Self::Guessed(marker) if page.links.is_none() && last == Some(marker))
    }

    /// A key that identifies the page, for the detection of cycles; `None` for the first page.
    pub(crate) fn key(&self) -> Option<String> {
        match self {
            Self::First => None,
            Self::Linked(marker) | Self::Guessed(marker) => Some(marker.clone()),
            Self::Query(pairs) => Some(format!("{pairs:?}")),
        }
    }
}

/// The request for the page after `page`; `None` if `page` is the last one.
pub(crate) fn next_step<T: Listed>(page: &Page<T>, page_size: u32) -> Result<Option<Step>, String> {
    let last = page.items.last().and_then(Listed::marker);
    match &page.links {
        Some(links) => match links.iter().find(|link| link.rel == "next") {
            // Even after an empty page: a service may apply filters after paging.
            Some(next) => from_link(&next.href).map(Some),
            None => Ok(None),
        },
        None => Ok(last
            .filter(|_| page.items.len() == page_size as usize)
            .map(|last| Step::Guessed(last.to_owned()))),
    }
}

/// Converts a link to a request. Fails if the link has no query parameters.
pub(crate) fn from_link(href: &str) -> Result<Step, String> {
    let query = href.split_once('?').map(|(_, query)| query.split('#').next().unwrap_or_default());
    let pairs: Vec<(String, String)> = query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (plain(key), plain(value)))
        .collect();
    if let Some((_, marker)) = pairs.iter().find(|(key, value)| key == "marker" && !value.is_empty()) {
        return Ok(Step::Linked(marker.clone()));
    }
    if pairs.is_empty() {
        return Err("a link to a next page that says nothing".to_owned());
    }
    Ok(Step::Query(pairs))
}

fn plain(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Decodes a page. A page without its list, or with an invalid object, is an error.
pub(crate) fn read<T: Listed>(body: &[u8]) -> Result<Page<T>, String> {
    let mut input = serde_json::Deserializer::from_slice(body);
    let page = PageSeed(PhantomData::<fn() -> T>).deserialize(&mut input);
    let page = page.and_then(|page| input.end().map(|()| page));
    page.map_err(|error| decode::unreadable(&error, body))
}

struct PageSeed<T>(PhantomData<fn() -> T>);

impl<'de, T: Listed> DeserializeSeed<'de> for PageSeed<T> {
    type Value = Page<T>;

    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<Page<T>, D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de, T: Listed> Visitor<'de> for PageSeed<T> {
    type Value = Page<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with a list of {}", T::COLLECTION)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Page<T>, A::Error> {
        let (mut items, mut links) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            if key == T::COLLECTION {
                items = Some(map.next_value::<Vec<T>>()?);
            } else if key.strip_suffix("_links") == Some(T::COLLECTION) {
                links = Some(map.next_value::<Option<Vec<Link>>>()?.unwrap_or_default());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let items =
            items.ok_or_else(|| serde::de::Error::custom(format!("it has no {:?}", T::COLLECTION)))?;
        Ok(Page { items, links })
    }
}
