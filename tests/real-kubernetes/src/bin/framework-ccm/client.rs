//! Asks the scripted cloud: budget, fence, call, deadline. It knows no Service and no Node.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_cloud::{
    CallBudget, CloudContext, CloudError, ErrorClass, EventSink, Fence, NoEvents, Unlimited, Urgency,
};
use bytes::Bytes;
use http::{Method, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use real_kubernetes_tests::framework::protocol::{Call, Reply, Request};
use tokio::time::timeout;

/// How long one call may take.
const DEADLINE: Duration = Duration::from_secs(5);

pub(crate) struct Client {
    url: Uri,
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    context: OnceLock<CloudContext>,
}

impl Client {
    pub(crate) fn new(url: Uri) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new()).build_http();
        Self { url, http, context: OnceLock::new() }
    }

    /// What the framework gives a cloud to work with. The first word counts: there is one process and one context.
    pub(crate) fn work_with(&self, context: &CloudContext) {
        self.context.get_or_init(|| context.clone());
    }

    pub(crate) fn events(&self) -> Arc<dyn EventSink> {
        self.context.get().map_or_else(|| Arc::new(NoEvents) as _, |context| context.events.clone())
    }

    fn budget(&self) -> Arc<dyn CallBudget> {
        self.context.get().map_or_else(|| Arc::new(Unlimited) as _, |context| context.budget.clone())
    }

    /// Reads.
    pub(crate) async fn read(&self, service: &'static str, call: Call) -> Result<Reply, CloudError> {
        self.budget().acquire(service, Urgency::Background).await;
        self.call(call).await
    }

    /// Changes something, if the fence allows it at that moment.
    pub(crate) async fn change(
        &self,
        service: &'static str,
        call: Call,
        fence: &dyn Fence,
    ) -> Result<(), CloudError> {
        self.budget().acquire(service, Urgency::User).await;
        fence.check()?;
        match self.call(call).await? {
            Reply::Done => Ok(()),
            Reply::Missing => {
                Err(CloudError::new(ErrorClass::NotFound, "the scripted cloud has no such thing"))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn call(&self, call: Call) -> Result<Reply, CloudError> {
        let request = Request { caller: std::process::id(), call };
        let body = serde_json::to_vec(&request).map_err(|error| CloudError::invalid(error.to_string()))?;
        let request = http::Request::builder().method(Method::POST).uri(&self.url).body(Full::from(body));
        let request = request.map_err(|error| CloudError::invalid(error.to_string()))?;
        match timeout(DEADLINE, self.answer(request)).await {
            Ok(answer) => answer,
            Err(_late) => {
                Err(CloudError::transient(format!("the scripted cloud has not answered in {DEADLINE:?}")))
            }
        }
    }

    async fn answer(&self, request: http::Request<Full<Bytes>>) -> Result<Reply, CloudError> {
        let transient = |error: &dyn std::fmt::Display| {
            CloudError::transient(format!("the scripted cloud could not be asked: {error}"))
        };
        let answer = self.http.request(request).await.map_err(|error| transient(&error))?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| transient(&error))?.to_bytes();
        if status != StatusCode::OK {
            return Err(transient(&format_args!("it answered {status}")));
        }
        serde_json::from_slice(&body).map_err(|error| transient(&error))
    }
}

/// An answer to another question: a bug of this test's cloud.
pub(crate) fn unexpected(reply: &Reply) -> CloudError {
    CloudError::new(
        ErrorClass::Fatal,
        format!("the scripted cloud answered something else than asked: {reply:?}"),
    )
}
