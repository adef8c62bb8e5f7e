//! Lists that come in pages. Pages can be taken one by one, so that a hundred thousand servers need the memory of one page.
//!
//! Of a link to the next page only the marker is taken: a service behind a proxy often names itself by an address that
//! leads nowhere, or past TLS. Pages that go in circles, or on for ever, end in an error and never in a short list.

pub(crate) mod page;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, marker::PhantomData, time::Duration};

use serde::de::DeserializeOwned;
use tokio::time::Instant;

use self::page::{Step, next_step, read};
use crate::{Client, Error, ErrorClass, Outcome, call::Call};

/// Something that services list.
pub trait Listed: DeserializeOwned + Send {
    /// The key of the list in the answer; its links are in `<COLLECTION>_links`.
    const COLLECTION: &'static str;

    /// What asks for the page after this object, where the service pages at all.
    fn marker(&self) -> Option<&str>;
}

/// Limits on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// How many objects are asked for at once; services may give fewer.
    pub page_size: u32,
    /// More pages than this are an error.
    pub max_pages: usize,
    /// More objects than this are an error.
    pub max_items: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { page_size: 500, max_pages: 2_000, max_items: 1_000_000 }
    }
}

/// The pages of a list. Nothing is asked before the first is wanted.
#[must_use = "nothing is asked before a page is wanted"]
pub struct Pages<T> {
    client: Client,
    call: Call,
    limits: PageLimits,
    step: Option<Step>,
    seen: BTreeSet<String>,
    pages: usize,
    items: usize,
    took: Duration,
    /// Whether the list was begun and is not counted yet.
    uncounted: bool,
    _listed: PhantomData<fn() -> T>,
}

impl<T: Listed> Pages<T> {
    pub(crate) fn new(client: Client, call: Call, limits: PageLimits) -> Self {
        Self {
            client,
            call,
            limits,
            step: Some(Step::First),
            seen: BTreeSet::new(),
            pages: 0,
            items: 0,
            took: Duration::ZERO,
            uncounted: false,
            _listed: PhantomData,
        }
    }

    /// The same list in pages of this size: a list that is read whole costs fewer calls in large ones. Services may give
    /// fewer at once.
    pub fn of(mut self, page_size: u32) -> Self {
        self.limits.page_size = page_size.max(1);
        self
    }

    /// The whole list.
    ///
    /// # Errors
    ///
    /// [`Error`] when any page cannot be had: a list is whole, or it is an error.
    pub async fn all(mut self) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await? {
            all.extend(page);
        }
        Ok(all)
    }

    /// The next page; none after the last one.
    ///
    /// # Errors
    ///
    /// [`Error`] when it cannot be had. The list is then over, and what came before must not be taken for the whole.
    pub async fn next_page(&mut self) -> Result<Option<Vec<T>>, Error> {
        let Some(step) = self.step.take() else { return Ok(None) };
        self.uncounted = true;
        let since = Instant::now();
        let result = self.page(step).await;
        self.took += since.elapsed();
        if result.is_err() || self.step.is_none() {
            self.count(result.is_err());
        }
        result.map(Some)
    }

    async fn page(&mut self, step: Step) -> Result<Vec<T>, Error> {
        let mut call = self.call.clone();
        step.apply(&mut call, self.limits.page_size);
        let answered = self.client.run(&call).await.map_err(|error| self.lost_marker(error))?;
        let page =
            read::<T>(&answered.answer.body).map_err(|why| answered.not_understood(&why, T::COLLECTION))?;
        if step.is_repeated_by(&page) {
            return Ok(Vec::new());
        }
        self.pages += 1;
        self.items += page.items.len();
        if self.items > self.limits.max_items {
            return Err(self.endless(&format!("more than {} objects", self.limits.max_items)));
        }
        let next = next_step(&page, self.limits.page_size).map_err(|why| self.endless(&why))?;
        if let Some(key) = next.as_ref().and_then(Step::key) {
            if !self.seen.insert(key) {
                return Err(self.endless("pages that go in a circle"));
            }
            if self.pages >= self.limits.max_pages {
                return Err(self.endless(&format!("more than {} pages", self.limits.max_pages)));
            }
        }
        self.step = next;
        Ok(page.items)
    }

    fn endless(&self, what: &str) -> Error {
        let message = format!("the list of {} has {what}; it was given up", T::COLLECTION);
        Error::new(ErrorClass::Transient, Outcome::Refused, message).at(self.call.line(""))
    }

    /// The object at which a page ended may be deleted before the next is asked for. Neutron answers 404 then, the others
    /// 400; neither says anything about what was asked for.
    fn lost_marker(&self, error: Error) -> Error {
        let lost = match error.status() {
            Some(404) => true,
            Some(400) => error.message().to_ascii_lowercase().contains("marker"),
            _ => false,
        };
        if self.pages > 0 && lost {
            return error.reclassified(ErrorClass::Conflict, "the list changed while it was read");
        }
        error
    }
}

impl<T> Pages<T> {
    fn count(&mut self, failed: bool) {
        self.uncounted = false;
        self.client.metrics().observe(self.call.request, self.took, failed);
    }
}

/// A list that its reader leaves is counted as well: as a failure if a page was on its way.
impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        if self.uncounted {
            self.count(self.step.is_none());
        }
    }
}
