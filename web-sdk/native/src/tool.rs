//! Tools.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::BridgeToPage;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use web_sdk_core::{Answer, HandlerOutcome, Item, Kind};

use crate::call::Call;
use crate::content::ToolResult;
use crate::definition::Handler;
use crate::error::CallError;
use crate::{json, schema};

/// A tool: its name, and metadata that helps a model to use it.
///
/// The schemas of its arguments and its result are derived from the handler's types, unless they
/// are given.
#[derive(Clone, Debug)]
pub struct Tool {
    name: String,
    fields: Map<String, Value>,
    annotations: Map<String, Value>,
    meta: Map<String, Value>,
}

impl Tool {
    /// Creates a tool. A name has 1 to 64 letters, digits, `_` and `-`; a tool with another name is
    /// published under a name that clients accept.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            fields: Map::new(),
            annotations: Map::new(),
            meta: Map::new(),
        }
    }

    /// Describes the tool for a model.
    #[must_use]
    pub fn describe(self, description: impl Into<String>) -> Self {
        self.field("description", description.into())
    }

    /// Sets the name for people.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.field("title", title.into())
    }

    /// Declares that the tool has no side effects.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.annotation("readOnlyHint", true)
    }

    /// Declares whether the effects of the tool are irreversible (MCP's default is that they are).
    #[must_use]
    pub fn destructive(self, is_destructive: bool) -> Self {
        self.annotation("destructiveHint", is_destructive)
    }

    /// Declares that a repeated call has no additional effect.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.annotation("idempotentHint", true)
    }

    /// Sets the JSON Schema of the arguments, instead of that of the handler's type.
    #[must_use]
    pub fn input_schema(self, schema: Value) -> Self {
        self.field("inputSchema", schema)
    }

    /// Sets the JSON Schema of the result, instead of that of the handler's type.
    #[must_use]
    pub fn output_schema(self, schema: Value) -> Self {
        self.field("outputSchema", schema)
    }

    /// Sets the maximum duration of a call. The bridge limits it to its `max_call_timeout` (1 h
    /// unless configured otherwise). The default is the bridge's `call_timeout`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        let ms = u64::try_from(timeout.as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        self.meta.insert("mcp-web/timeout".to_owned(), ms.into());
        self
    }

    /// Sets another field of the definition, by its name in MCP or the bridge.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    fn annotation(mut self, name: &str, value: bool) -> Self {
        self.annotations.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn into_definition<I: JsonSchema, O: ToolOutput>(self) -> (Item, Value, bool) {
        let mut object = Map::new();
        object.insert("name".to_owned(), self.name.clone().into());
        object.extend(self.fields);
        if !object.contains_key("inputSchema") {
            object.insert("inputSchema".to_owned(), schema::of_arguments::<I>());
        }
        if !object.contains_key("outputSchema")
            && let Some(schema) = O::schema()
        {
            object.insert("outputSchema".to_owned(), schema);
        }
        if !self.meta.is_empty() {
            object.insert("_meta".to_owned(), self.meta.into());
        }
        if !self.annotations.is_empty() {
            object.insert("annotations".to_owned(), self.annotations.into());
        }
        let annotations = object.get("annotations").unwrap_or(&Value::Null);
        let hint = |name| annotations[name] == true;
        let repeatable = hint("readOnlyHint") || hint("idempotentHint");
        let item = Item {
            kind: Kind::Tool,
            name: self.name,
        };
        (item, object.into(), repeatable)
    }
}

/// The arguments of a tool without arguments.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct NoArguments {}

/// A result of a tool: a value that serde serializes, or a [`ToolResult`].
pub trait ToolOutput {
    /// The JSON Schema of the result, if it has one.
    fn schema() -> Option<Value>;
    #[doc(hidden)]
    fn into_outcome(self) -> HandlerOutcome<String>;
}

impl<T: Serialize + JsonSchema> ToolOutput for T {
    fn schema() -> Option<Value> {
        schema::of_output::<T>()
    }

    fn into_outcome(self) -> HandlerOutcome<String> {
        match serde_json::to_string(&self) {
            Ok(result) => HandlerOutcome::Returned {
                bytes: result.len(),
                answer: Answer {
                    result: Some(result),
                    ..Answer::default()
                },
            },
            Err(error) => CallError::with_code(
                bridge_protocol::ErrorCode::InvalidResult,
                format!("the result is not JSON: {error}"),
            )
            .into_outcome(),
        }
    }
}

impl ToolOutput for ToolResult {
    fn schema() -> Option<Value> {
        None
    }

    fn into_outcome(self) -> HandlerOutcome<String> {
        let content = Some(json::text(&self.content));
        let structured_content = self.structured_content.as_ref().map(json::text);
        let meta = self.meta.as_ref().map(json::text);
        let texts = [&content, &structured_content, &meta];
        HandlerOutcome::Returned {
            bytes: texts.into_iter().flatten().map(String::len).sum(),
            answer: Answer {
                result: None,
                content,
                structured_content,
                meta,
            },
        }
    }
}

/// Returns the handler of a tool without its types.
pub(crate) fn handler<I, O, Fut>(run: impl Fn(I, Call) -> Fut + Send + Sync + 'static) -> Handler
where
    I: DeserializeOwned,
    O: ToolOutput,
    Fut: Future<Output = Result<O, CallError>> + Send + 'static,
{
    Arc::new(move |message, call| {
        let BridgeToPage::ToolCall(request) = message else {
            return Box::pin(std::future::ready(unexpected()));
        };
        match parse::<I>(request.tool_input.get()) {
            Ok(input) => {
                let run = run(input, call);
                Box::pin(async move {
                    match run.await {
                        Ok(output) => output.into_outcome(),
                        Err(error) => error.into_outcome(),
                    }
                })
            }
            Err(error) => Box::pin(std::future::ready(error.into_outcome())),
        }
    })
}

/// Parses arguments. The bridge has validated them against the schema, but a type may be stricter.
fn parse<I: DeserializeOwned>(text: &str) -> Result<I, CallError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner().to_string();
        // The position refers to a text that the model has not written.
        let reason = reason
            .split(" at line ")
            .next()
            .unwrap_or(&reason)
            .to_owned();
        let place = if path == "." {
            String::new()
        } else {
            format!("{path}: ")
        };
        CallError::invalid_arguments(format!("{place}{reason}"))
    })
}

/// The core passes only requests of the definition's kind to a handler.
pub(crate) fn unexpected() -> HandlerOutcome<String> {
    CallError::new("the request is of another kind than the definition").into_outcome()
}
