//! A running call, from the point of view of its handler.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bridge_protocol::{CallContext, CallId, ErrorCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use web_sdk_core::{ClientRequest, Failure, SizedJson};

use crate::error::CallError;
use crate::json;
use crate::report_queue::ReportQueue;

pub use bridge_protocol::{Caller, CallingClient, LogLevel};

/// The default of [`Call::sample`].
const MAX_TOKENS: u32 = 1000;

/// An event of a running handler.
pub(crate) enum CallEvent {
    Progressed(Progress),
    Logged(Log),
    Asked(Ask),
    /// Arms the hand-over with a state, or disarms it.
    HandOver(Option<String>),
}

/// Progress of a call, as JSON texts.
pub(crate) struct Progress {
    pub(crate) progress: String,
    pub(crate) total: Option<String>,
    pub(crate) message: Option<String>,
}

/// A log message of a call.
pub(crate) struct Log {
    pub(crate) level: &'static str,
    pub(crate) data: SizedJson<String>,
}

/// A request of a handler to its client.
pub(crate) struct Ask {
    pub(crate) request: ClientRequest<String>,
    pub(crate) bytes: usize,
    pub(crate) answer: oneshot::Sender<Result<String, Failure>>,
}

/// Passes the events of a call to the connection.
pub(crate) type CallEvents = Box<dyn Fn(CallEvent) + Send + Sync>;

/// A running call: its client, and the operations of its handler. It is cheap to clone.
#[derive(Clone)]
pub struct Call(Arc<Inner>);

struct Inner {
    id: CallId,
    context: Box<CallContext>,
    events: CallEvents,
    reports: ReportQueue,
    /// Why the call was cancelled.
    cancelled: watch::Receiver<Option<Failure>>,
    /// The number of requests of each method, for the keys of the requests.
    asked: Mutex<BTreeMap<&'static str, u32>>,
    /// The latest progress.
    progress: Mutex<f64>,
}

impl Inner {
    fn has_grown(&self, progress: f64) -> bool {
        let mut latest = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let has_grown = progress > *latest;
        if has_grown {
            *latest = progress;
        }
        has_grown
    }
}

impl Call {
    pub(crate) fn new(
        id: CallId,
        context: Box<CallContext>,
        events: CallEvents,
        reports: ReportQueue,
        cancelled: watch::Receiver<Option<Failure>>,
    ) -> Self {
        Self(Arc::new(Inner {
            id,
            context,
            events,
            reports,
            cancelled,
            asked: Mutex::default(),
            progress: Mutex::new(f64::NEG_INFINITY),
        }))
    }

    /// Returns the id of the call. It is unique within the session.
    pub fn id(&self) -> &str {
        self.0.id.as_str()
    }

    /// Returns the AI client that makes the call; `None` for plain HTTP.
    pub fn client(&self) -> Option<&CallingClient> {
        self.0.context.client.as_deref()
    }

    /// Returns the user on whose behalf the call is made, with their roles, if the token names one.
    pub fn caller(&self) -> Option<&Caller> {
        self.0.context.caller.as_ref()
    }

    /// Returns the trace of the call as HTTP headers (W3C Trace Context and Baggage), for requests that
    /// belong to it. There are none if the bridge records no traces.
    pub fn trace_headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let trace = self.0.context.trace.iter();
        trace.flat_map(|trace| trace.headers())
    }

    /// Returns the state with which another process of the same session handed over the call.
    pub fn continuation(&self) -> Option<Value> {
        let state = self.0.context.continuation.as_ref()?;
        serde_json::from_str(state.get()).ok()
    }

    /// Returns how often the call was handed over from one process to another.
    pub fn hand_overs(&self) -> u32 {
        self.0.context.hand_overs.unwrap_or_default()
    }

    /// Reports progress to the client. `total` is the value of `progress` at the end.
    ///
    /// A report is dropped if the client has not requested progress, if the value does not increase
    /// (as MCP requires), or if it is not a finite number. Reports are also dropped while 1,024
    /// reports of the program are waiting, or more than 1 MiB is waiting for the network.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let is_finite = progress.is_finite() && total.is_none_or(f64::is_finite);
        if !self.0.context.progress || !is_finite || !self.0.has_grown(progress) {
            return;
        }
        let report = Progress {
            progress: json::text(&progress),
            total: total.as_ref().map(json::text),
            message: message.map(str::to_owned),
        };
        if self.0.reports.begin() {
            (self.0.events)(CallEvent::Progressed(report));
        }
    }

    /// Sends a log message to the client: any JSON value, at most 256 KiB.
    ///
    /// A message below the level that the client has requested is dropped. Messages are also
    /// dropped while 1,024 reports of the program are waiting, or more than 1 MiB is waiting for
    /// the network.
    pub fn log(&self, level: LogLevel, data: impl Serialize) {
        if self.0.context.log_level.is_none_or(|least| level < least) {
            return;
        }
        let log = Log {
            level: level_name(level),
            data: json::sized(&data),
        };
        if self.0.reports.begin() {
            (self.0.events)(CallEvent::Logged(log));
        }
    }

    /// Waits until the result is no longer needed, and returns the reason: the client has cancelled
    /// the call or is gone, its time limit has passed, or the program has disconnected.
    ///
    /// The handler keeps running, and decides when to end.
    pub async fn cancelled(&self) -> String {
        let mut cancelled = self.0.cancelled.clone();
        match cancelled.wait_for(Option::is_some).await {
            Ok(reason) => reason.as_ref().map(|reason| reason.message.clone()),
            Err(_) => None,
        }
        .unwrap_or_else(|| "the connection has ended".to_owned())
    }

    /// Returns whether the result is no longer needed.
    pub fn is_cancelled(&self) -> bool {
        // The connection removes a call that has ended.
        self.0.cancelled.has_changed().is_err() || self.0.cancelled.borrow().is_some()
    }

    /// Asks the user of the client to fill in a form (MCP elicitation).
    ///
    /// # Errors
    /// `ClientCapabilityMissing` if the client does not support it, `ClientRequestFailed` if it
    /// answered with an error or not in time, and an error if the call ends first.
    pub async fn elicit<Form>(&self, message: &str) -> Result<Elicited<Form>, CallError>
    where
        Form: DeserializeOwned + schemars::JsonSchema,
    {
        let schema = crate::schema::of_input::<Form>();
        let answer = self.elicit_json(message, &schema).await?;
        Ok(match answer {
            Elicited::Accepted(value) => Elicited::Accepted(
                serde_json::from_value(value)
                    .map_err(|error| request_failed(format!("the answer does not fit: {error}")))?,
            ),
            Elicited::Declined => Elicited::Declined,
            Elicited::Cancelled => Elicited::Cancelled,
        })
    }

    /// Asks the user of the client to fill in a form with this JSON Schema.
    ///
    /// # Errors
    /// Returns the errors that [`Call::elicit`] returns.
    pub async fn elicit_json(
        &self,
        message: &str,
        schema: &Value,
    ) -> Result<Elicited<Value>, CallError> {
        let params = json!({ "message": message, "requestedSchema": schema });
        let mut result = self.ask("elicit", "elicitation/create", params).await?;
        Ok(match result["action"].as_str() {
            Some("accept") => Elicited::Accepted(result["content"].take()),
            Some("decline") => Elicited::Declined,
            _ => Elicited::Cancelled,
        })
    }

    /// Asks the client's model to answer a prompt (MCP sampling), in at most 1,000 tokens.
    ///
    /// # Errors
    /// Returns the errors that [`Call::elicit`] returns.
    pub async fn sample(&self, prompt: &str) -> Result<String, CallError> {
        let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
        let params = json!({ "messages": [message], "maxTokens": MAX_TOKENS });
        let result = self.sample_json(params).await?;
        let text = result["content"]["text"].as_str();
        Ok(text.unwrap_or_default().to_owned())
    }

    /// Sends MCP's `sampling/createMessage` to the client's model, and returns MCP's result.
    ///
    /// # Errors
    /// Returns the errors that [`Call::elicit`] returns.
    pub async fn sample_json(&self, params: Value) -> Result<Value, CallError> {
        self.ask("sample", "sampling/createMessage", params).await
    }

    /// Returns the folders and files that the client works on (MCP roots).
    ///
    /// # Errors
    /// Returns the errors that [`Call::elicit`] returns.
    pub async fn roots(&self) -> Result<Vec<Root>, CallError> {
        let mut result = self.ask("roots", "roots/list", json!({})).await?;
        let roots = serde_json::from_value(result["roots"].take());
        roots.map_err(|error| request_failed(format!("the client's roots are invalid: {error}")))
    }

    /// Lets another process of this session continue the call if this one leaves before the call
    /// ends ([`McpWeb::leave`](crate::McpWeb::leave)). Its handler gets the state as
    /// [`Call::continuation`]. Another call replaces the state; `None` removes it.
    pub fn hand_over(&self, state: Option<&Value>) {
        let state = state.map(json::text);
        (self.0.events)(CallEvent::HandOver(state));
    }

    async fn ask(
        &self,
        kind: &'static str,
        method: &str,
        params: Value,
    ) -> Result<Value, CallError> {
        let number = {
            let mut asked = self.0.asked.lock().unwrap_or_else(PoisonError::into_inner);
            let count = asked.entry(kind).or_default();
            *count += 1;
            *count
        };
        let params = json::text(&params);
        let (sender, answer) = oneshot::channel();
        let ask = Ask {
            bytes: params.len(),
            request: ClientRequest {
                key: format!("{kind}-{number}"),
                method: method.to_owned(),
                params,
            },
            answer: sender,
        };
        (self.0.events)(CallEvent::Asked(ask));
        let answer = answer
            .await
            .map_err(|_| request_failed("the call has ended".to_owned()))?;
        let response = answer.map_err(failed)?;
        let response = serde_json::from_str(&response);
        let mut response: Value =
            response.map_err(|error| request_failed(format!("the answer is invalid: {error}")))?;
        if let Some(error) = response.get("error") {
            let message = error["message"].as_str().unwrap_or_default().to_owned();
            let mut failure = match error["code"].as_str() {
                Some("ClientCapabilityMissing") => {
                    CallError::with_code(ErrorCode::ClientCapabilityMissing, message)
                }
                _ => request_failed(message),
            };
            if let Some(data) = error.get("data") {
                failure = failure.data(data.clone());
            }
            return Err(failure);
        }
        Ok(response["result"].take())
    }
}

fn request_failed(message: String) -> CallError {
    CallError::with_code(ErrorCode::ClientRequestFailed, message)
}

fn failed(Failure { message, .. }: Failure) -> CallError {
    request_failed(message)
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Notice => "notice",
        LogLevel::Warning => "warning",
        LogLevel::Error => "error",
        LogLevel::Critical => "critical",
        LogLevel::Alert => "alert",
        LogLevel::Emergency => "emergency",
    }
}

/// The answer of a person to [`Call::elicit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elicited<Form> {
    /// The form was filled in.
    Accepted(Form),
    /// The person declined.
    Declined,
    /// The person dismissed the form without an answer.
    Cancelled,
}

/// A folder or file that a client works on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct Root {
    /// Its `file:` URI.
    pub uri: String,
    /// Its name for people.
    pub name: Option<String>,
}
