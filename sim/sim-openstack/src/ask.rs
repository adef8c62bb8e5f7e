//! Requests that an account makes without a connection. Tests and the operator of the cloud prepare things with them.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::cloud::{Cloud, Outcome};
use crate::seed::Account;

impl Cloud {
    /// Logs in; the token, or the status and the body of the refusal.
    ///
    /// # Errors
    /// When Keystone refuses the account.
    pub fn login(&mut self, account: Account<'_>) -> Result<String, (StatusCode, Value)> {
        let domain = json!({"id": "default"});
        let user = json!({"name": account.user, "password": account.password, "domain": domain});
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": account.project, "domain": domain}},
        }});
        let (status, headers, body) = self.send(Method::POST, "/identity/v3/auth/tokens", "", &body);
        let token = headers.get("x-subject-token").and_then(|token| token.to_str().ok());
        token.map(ToOwned::to_owned).ok_or((status, body))
    }

    /// Logs in and makes one request, such as to `/compute/v2.1/servers`. No injected fault hits it, and no time passes.
    ///
    /// The answer is the status and the body; a body that is not JSON is null. The services have to be told apart by their paths, as
    /// in [`crate::Config::at`].
    pub fn ask(
        &mut self,
        account: Account<'_>,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        match self.login(account) {
            Ok(token) => {
                let (status, _headers, body) = self.send(method, path, &token, body);
                (status, body)
            }
            Err(refusal) => refusal,
        }
    }

    fn send(
        &mut self,
        method: Method,
        path: &str,
        token: &str,
        body: &Value,
    ) -> (StatusCode, HeaderMap, Value) {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .header("x-auth-token", token)
            .body(body);
        let Ok(request) = request else { return (StatusCode::BAD_REQUEST, HeaderMap::new(), Value::Null) };
        let was_paused = self.faults().pause(true);
        let outcome = self.handle(request, self.now());
        self.faults().pause(was_paused);
        match outcome {
            Outcome::Reply(answer) | Outcome::Slow(_, answer) => {
                let (parts, body) = answer.into_parts();
                (parts.status, parts.headers, serde_json::from_slice(&body).unwrap_or(Value::Null))
            }
            // Only faults do that, and they are paused.
            Outcome::Silence | Outcome::Disconnect => {
                (StatusCode::GATEWAY_TIMEOUT, HeaderMap::new(), Value::Null)
            }
        }
    }
}
