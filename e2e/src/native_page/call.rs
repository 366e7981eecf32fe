//! The calls of a native page, and what a handler can do during one.

use std::collections::BTreeMap;

use bridge_protocol::{
    Argument, CallContext, CallId, CallLog, CallProgress, ClientError, ClientRequest,
    ClientRequests, Completion, Item, Kind, LogLevel, PageToBridge, PromptGet, ResourceRead,
    ToolCall,
};
use futures_util::future::join_all;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Number, Value};
use tokio::sync::{mpsc, oneshot};

/// Passes the client's response to the handler that requested it.
pub(super) type Responder = oneshot::Sender<Result<Value, ClientError>>;

/// An action of a handler.
pub(super) enum HandlerAction {
    Send(Box<PageToBridge>),
    AskClient(ClientRequests, Vec<Responder>),
}

/// A call that has arrived.
pub(super) struct IncomingCall {
    pub(super) id: CallId,
    pub(super) item: Item,
    pub(super) request: CallInput,
    pub(super) context: Box<CallContext>,
}

impl From<ToolCall> for IncomingCall {
    fn from(call: ToolCall) -> Self {
        Self {
            id: call.request_id,
            item: item(Kind::Tool, call.tool_name),
            request: CallInput::Tool(from_raw(&call.tool_input)),
            context: call.context,
        }
    }
}

impl From<PromptGet> for IncomingCall {
    fn from(get: PromptGet) -> Self {
        Self {
            id: get.request_id,
            item: item(Kind::Prompt, get.name),
            request: CallInput::Prompt(from_raw(&get.arguments)),
            context: get.context,
        }
    }
}

impl From<ResourceRead> for IncomingCall {
    fn from(read: ResourceRead) -> Self {
        Self {
            id: read.request_id,
            item: match read.uri_template {
                Some(template) => item(Kind::ResourceTemplate, template),
                None => item(Kind::Resource, read.uri.clone()),
            },
            request: CallInput::Resource {
                uri: read.uri,
                variables: read.variables,
            },
            context: read.context,
        }
    }
}

impl From<Completion> for IncomingCall {
    fn from(completion: Completion) -> Self {
        Self {
            id: completion.request_id,
            item: completion.reference,
            request: CallInput::Completion {
                argument: completion.argument,
                arguments: completion.arguments,
            },
            context: completion.context,
        }
    }
}

fn item(kind: Kind, name: String) -> Item {
    Item { kind, name }
}

/// A call, as its handler sees it.
#[derive(Clone)]
pub struct NativeCall {
    /// The id of the call.
    pub id: CallId,
    /// What is called, with its input.
    pub request: CallInput,
    /// What the bridge adds to the call.
    pub context: Box<CallContext>,
    pub(super) actions: mpsc::UnboundedSender<HandlerAction>,
}

/// What is called, with its input.
#[derive(Clone, Debug)]
pub enum CallInput {
    /// A tool with these arguments.
    Tool(Value),
    /// A prompt with these arguments.
    Prompt(Value),
    /// The content of a resource.
    Resource {
        /// Its URI.
        uri: String,
        /// The variables of the template that it matches.
        variables: Option<BTreeMap<String, String>>,
    },
    /// Completions.
    Completion {
        /// The argument that is being completed.
        argument: Argument,
        /// The arguments that are complete already.
        arguments: BTreeMap<String, String>,
    },
}

impl NativeCall {
    /// Returns the arguments of a tool or a prompt.
    pub fn input(&self) -> Value {
        match &self.request {
            CallInput::Tool(input) | CallInput::Prompt(input) => input.clone(),
            other => panic!("{other:?} has no arguments"),
        }
    }

    /// Reports progress, even if the client has not requested it.
    pub fn progress(&self, progress: u64, total: Option<u64>, message: Option<&str>) {
        self.perform(HandlerAction::Send(Box::new(PageToBridge::CallProgress(
            CallProgress {
                request_id: self.id.clone(),
                progress: progress.into(),
                total: total.map(Number::from),
                message: message.map(str::to_owned),
            },
        ))));
    }

    /// Sends a log message, even if the client has not requested it.
    pub fn log(&self, level: LogLevel, data: &Value) {
        self.perform(HandlerAction::Send(Box::new(PageToBridge::CallLog(
            CallLog {
                request_id: self.id.clone(),
                level,
                logger: None,
                data: to_raw(data),
            },
        ))));
    }

    /// Sends a request to the client, and waits for its response.
    pub async fn request_client(
        &self,
        key: &str,
        method: &str,
        params: Value,
    ) -> Result<Value, ClientError> {
        let mut responses = self.request_client_all(vec![(key, method, params)]).await;
        responses.remove(0)
    }

    /// Sends several requests (key, method, parameters) to the client in one round, and waits for
    /// all responses.
    pub async fn request_client_all(
        &self,
        requests: Vec<(&str, &str, Value)>,
    ) -> Vec<Result<Value, ClientError>> {
        let request = |(key, method, params): (&str, &str, Value)| ClientRequest {
            key: key.to_owned(),
            method: method.to_owned(),
            params: to_raw(&params),
        };
        let requests: Vec<ClientRequest> = requests.into_iter().map(request).collect();
        let (responders, responses): (Vec<_>, Vec<_>) =
            requests.iter().map(|_| oneshot::channel()).unzip();
        let requests = ClientRequests {
            request_id: self.id.clone(),
            requests,
        };
        self.perform(HandlerAction::AskClient(requests, responders));
        let responses = join_all(responses).await;
        responses
            .into_iter()
            .map(|response| response.expect("a handler that waits ends before its connection"))
            .collect()
    }

    fn perform(&self, action: HandlerAction) {
        // If the connection has ended, its handlers have been aborted.
        let _ = self.actions.send(action);
    }
}

pub(super) fn to_raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("a value is JSON")
}

pub(super) fn from_raw(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).expect("raw JSON is JSON")
}
