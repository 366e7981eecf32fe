//! The items that a native page registers, and the outcomes of their handlers.

use std::sync::Arc;

use bridge_protocol::{CallError, CallId, CallResponse, ErrorCode, Item, Kind};
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::NativeCall;
use super::call::to_raw;

/// The outcome of a handler.
pub type NativeOutcome = Result<NativeAnswer, Box<NativeFailure>>;

/// A closure that handles the calls of an item.
pub(super) type Handler =
    Arc<dyn Fn(NativeCall) -> BoxFuture<'static, NativeOutcome> + Send + Sync>;

/// A tool, prompt, resource or template, and the closures that handle its calls.
#[derive(Clone)]
pub struct NativeItem {
    pub(super) kind: Kind,
    pub(super) definition: Value,
    pub(super) handler: Handler,
    pub(super) completer: Option<Handler>,
}

impl NativeItem {
    /// Creates an item from its complete MCP definition.
    pub fn new<F>(
        kind: Kind,
        definition: Value,
        handler: impl Fn(NativeCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = NativeOutcome> + Send + 'static,
    {
        Self {
            kind,
            definition,
            handler: boxed(handler),
            completer: None,
        }
    }

    /// Creates a tool that accepts any object.
    pub fn tool<F>(name: &str, handler: impl Fn(NativeCall) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = NativeOutcome> + Send + 'static,
    {
        let definition = json!({
            "name": name,
            "description": format!("The tool {name} of a native page"),
            "inputSchema": { "type": "object" },
        });
        Self::new(Kind::Tool, definition, handler)
    }

    /// Creates a prompt with these arguments, none of which is required.
    pub fn prompt<F>(
        name: &str,
        arguments: &[&str],
        handler: impl Fn(NativeCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = NativeOutcome> + Send + 'static,
    {
        let arguments: Vec<Value> = arguments
            .iter()
            .map(|argument| json!({ "name": argument }))
            .collect();
        let definition = json!({ "name": name, "arguments": arguments });
        Self::new(Kind::Prompt, definition, handler)
    }

    /// Creates a resource.
    pub fn resource<F>(uri: &str, handler: impl Fn(NativeCall) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = NativeOutcome> + Send + 'static,
    {
        Self::new(Kind::Resource, json!({ "uri": uri, "name": uri }), handler)
    }

    /// Creates a resource template.
    pub fn template<F>(
        uri_template: &str,
        handler: impl Fn(NativeCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = NativeOutcome> + Send + 'static,
    {
        let definition = json!({ "uriTemplate": uri_template, "name": uri_template });
        Self::new(Kind::ResourceTemplate, definition, handler)
    }

    /// Creates a tool that returns its arguments.
    pub fn echo() -> Self {
        Self::tool("echo", async |call| Ok(call.input().into()))
    }

    /// Creates a tool that never answers.
    pub fn hang() -> Self {
        Self::tool("hang", |_| std::future::pending())
    }

    /// Adds completions of the arguments of a prompt or template.
    pub fn with_completer<F>(
        mut self,
        completer: impl Fn(NativeCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = NativeOutcome> + Send + 'static,
    {
        self.completer = Some(boxed(completer));
        self
    }

    pub(super) fn key(&self) -> Item {
        let key = match self.kind {
            Kind::Tool | Kind::Prompt => "name",
            Kind::Resource => "uri",
            Kind::ResourceTemplate => "uriTemplate",
        };
        Item {
            kind: self.kind,
            name: self.definition[key].as_str().unwrap_or_default().to_owned(),
        }
    }
}

fn boxed<F>(handler: impl Fn(NativeCall) -> F + Send + Sync + 'static) -> Handler
where
    F: Future<Output = NativeOutcome> + Send + 'static,
{
    Arc::new(move |call| Box::pin(handler(call)))
}

/// The result of a call.
#[derive(Clone, Debug)]
pub enum NativeAnswer {
    /// A tool's value, or the MCP result object of the other kinds.
    Value(Value),
    /// JSON that is encoded already, so that a large value need not be encoded for each call.
    Raw(Box<RawValue>),
    /// An empty response.
    Nothing,
    /// A tool's content blocks.
    Content {
        /// An array of MCP `ContentBlock`s.
        content: Value,
        /// `structuredContent` in addition to them.
        structured: Option<Value>,
        /// `_meta` in addition to them.
        meta: Option<Value>,
    },
}

impl NativeAnswer {
    /// Creates content blocks without anything else.
    pub fn content(blocks: Value) -> Self {
        Self::Content {
            content: blocks,
            structured: None,
            meta: None,
        }
    }

    pub(super) fn into_response(self, request_id: CallId) -> CallResponse {
        let empty = CallResponse {
            request_id,
            result: None,
            content: None,
            structured_content: None,
            meta: None,
        };
        match self {
            Self::Nothing => empty,
            Self::Value(value) => CallResponse {
                result: Some(to_raw(&value)),
                ..empty
            },
            Self::Raw(json) => CallResponse {
                result: Some(json),
                ..empty
            },
            Self::Content {
                content,
                structured,
                meta,
            } => CallResponse {
                content: Some(to_raw(&content)),
                structured_content: structured.as_ref().map(to_raw),
                meta: meta.as_ref().map(to_raw),
                ..empty
            },
        }
    }
}

impl From<Value> for NativeAnswer {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// The failure of a call.
#[derive(Clone, Debug)]
pub struct NativeFailure {
    /// The error code.
    pub code: ErrorCode,
    /// The message for people.
    pub message: String,
    /// More details for programs.
    pub data: Option<Value>,
    /// Content blocks instead of the message.
    pub content: Option<Value>,
}

impl NativeFailure {
    /// Creates a failure with this code and message.
    pub fn new(code: ErrorCode, message: &str) -> Box<Self> {
        Box::new(Self {
            code,
            message: message.to_owned(),
            data: None,
            content: None,
        })
    }
}

impl NativeFailure {
    pub(super) fn into_error(self, request_id: CallId) -> CallError {
        CallError {
            request_id,
            code: self.code,
            message: self.message,
            data: self.data.as_ref().map(to_raw),
            content: self.content.as_ref().map(to_raw),
            meta: None,
        }
    }
}

/// Returns the response, or a failure if it is larger than the limit.
pub(super) fn enforce_limit(
    response: CallResponse,
    limit: usize,
) -> Result<CallResponse, Box<NativeFailure>> {
    let parts = [
        &response.result,
        &response.content,
        &response.structured_content,
        &response.meta,
    ];
    let bytes: usize = parts.into_iter().flatten().map(|raw| raw.get().len()).sum();
    if bytes <= limit {
        return Ok(response);
    }
    let message = format!("the result has {bytes} bytes and {limit} is the limit");
    Err(NativeFailure::new(ErrorCode::ResultTooLarge, &message))
}

/// A handler that has thrown an error with this message.
impl From<&str> for Box<NativeFailure> {
    fn from(message: &str) -> Self {
        NativeFailure::new(ErrorCode::HandlerFailed, message)
    }
}
