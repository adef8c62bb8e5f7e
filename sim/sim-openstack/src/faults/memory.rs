//! Former answers, for reads that show the past. Kept only while a rule for stale reads exists, and not for long.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use super::{FaultBody, bodies};
use crate::clock::{later, plain};
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Body};

/// How many addresses are remembered, and how many answers of each.
const ADDRESSES_MAX: usize = 2000;
const ANSWERS_MAX: usize = 8;

type Key = (Service, String, String);

/// Answers to reads, by address and project.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    age_max: Option<Duration>,
    answers: BTreeMap<Key, VecDeque<(Timestamp, ApiResponse)>>,
}

impl Memory {
    /// Some rule wants answers that are up to so old.
    pub(super) fn keep_at_least(&mut self, age: Duration) {
        self.age_max = Some(self.age_max.map_or(age, |kept| kept.max(age)));
    }

    pub(super) fn remember(
        &mut self,
        service: Service,
        request: &ApiRequest,
        project: &str,
        response: &ApiResponse,
        now: Timestamp,
    ) {
        if self.age_max.is_none() || request.method != Method::GET {
            return;
        }
        let key = key(service, request, project);
        if self.answers.len() >= ADDRESSES_MAX && !self.answers.contains_key(&key) {
            self.answers.pop_first();
        }
        let answers = self.answers.entry(key).or_default();
        if answers.len() == ANSWERS_MAX {
            answers.pop_front();
        }
        answers.push_back((now, response.clone()));
    }

    /// The oldest answer that is not older than `age`; if there is none, the present one without what is younger.
    pub(super) fn stale(
        &self,
        service: Service,
        request: &ApiRequest,
        project: &str,
        response: ApiResponse,
        age: Duration,
        now: Timestamp,
    ) -> ApiResponse {
        let fresh_enough = |at: Timestamp| later(at, age) >= now;
        let remembered = self.answers.get(&key(service, request, project)).into_iter().flatten();
        match remembered.into_iter().find(|(at, _)| fresh_enough(*at)) {
            Some((_, former)) => former.clone(),
            None => without_young(service, request, response, &|created| {
                created
                    > plain(
                        now.checked_sub(jiff::SignedDuration::try_from(age).unwrap_or_default())
                            .unwrap_or(now),
                    )
                    .as_str()
            }),
        }
    }
}

fn key(service: Service, request: &ApiRequest, project: &str) -> Key {
    let query = crate::http::Query::write(request.query.pairs());
    (service, project.to_owned(), format!("{}?{query}", request.path))
}

/// An answer as before its youngest objects were created.
fn without_young(
    service: Service,
    request: &ApiRequest,
    mut response: ApiResponse,
    young: &dyn Fn(&str) -> bool,
) -> ApiResponse {
    let Body::Json(Value::Object(members)) = &mut response.body else { return response };
    let created = |value: &Value| {
        let time = value.get("created_at").or_else(|| value.get("created"))?.as_str()?;
        Some(young(time.trim_end_matches('Z')))
    };
    if members.values().any(|value| created(value) == Some(true)) {
        return bodies::answer(service, request, StatusCode::NOT_FOUND, FaultBody::Service);
    }
    for list in members.values_mut().filter_map(Value::as_array_mut) {
        list.retain(|value| created(value) != Some(true));
    }
    response
}
