//! Paged lists. Callers can process pages one by one, so a list of a hundred thousand servers needs the memory of one page.
//!
//! Links to the next page are not followed; only their query parameters, usually the marker, are used. A service behind a proxy often
//! writes links that are unreachable or lack TLS. Lists whose pages repeat or exceed the limits result in an error, never in a truncated
//! list.

pub(crate) mod page;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, marker::PhantomData, time::Duration};

use serde::de::DeserializeOwned;
use tokio::time::Instant;

use self::page::{Step, next_step, read};
use crate::{Client, Error, ErrorClass, Outcome, call::Call};

/// An object that services return in lists.
pub trait Listed: DeserializeOwned + Send {
    /// The key of the list in the answer; the key of its links is `<COLLECTION>_links`.
    const COLLECTION: &'static str;

    /// The marker that requests the page after this object; `None` if the service does not page this list.
    fn marker(&self) -> Option<&str>;
}

/// Limits for reading a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The number of objects requested per page; services may return fewer.
    pub page_size: u32,
    /// The maximum number of pages; exceeding it is an error.
    pub max_pages: usize,
    /// The maximum number of objects; exceeding it is an error.
    pub max_items: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { page_size: 500, max_pages: 2_000, max_items: 1_000_000 }
    }
}

/// The pages of a list. Lazy: the first request is made when the first page is requested.
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
    /// Whether the list was started and is not yet recorded in the metrics.
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

    /// Sets the page size. Large pages need fewer calls if the whole list is read; services may return smaller pages.
    pub fn of(mut self, page_size: u32) -> Self {
        self.limits.page_size = page_size.max(1);
        self
    }

    /// Reads the whole list.
    ///
    /// # Errors
    ///
    /// [`Error`] if any page cannot be read; a partial list is never returned.
    pub async fn all(mut self) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await? {
            all.extend(page);
        }
        Ok(all)
    }

    /// Reads the next page; `None` after the last one.
    ///
    /// # Errors
    ///
    /// [`Error`] if the page cannot be read. The list then ends, and the pages so far must not be taken for the whole list.
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

    /// The last object of a page may be deleted before the next page is requested. Neutron then answers 404 for the marker, the other
    /// services 400; neither is a statement about the list itself.
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

/// Records a list that the caller did not read to its end: as an error if a request was in flight.
impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        if self.uncounted {
            self.count(self.step.is_none());
        }
    }
}
