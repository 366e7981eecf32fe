//! Prompts, and the completion of their arguments.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use bridge_protocol::BridgeToPage;
use serde_json::{Map, Value, json};
use web_sdk_core::{Item, Kind};

use crate::call::Call;
use crate::completion::{Completers, returned};
use crate::definition::Handler;
use crate::error::CallError;
use crate::tool::unexpected;

/// A prompt: messages that a person chooses to send, with arguments filled in.
#[derive(Clone, Debug)]
pub struct Prompt {
    name: String,
    fields: Map<String, Value>,
    arguments: Vec<Value>,
    completers: Completers,
}

impl Prompt {
    /// Creates a prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            fields: Map::new(),
            arguments: Vec::new(),
            completers: Completers::default(),
        }
    }

    /// Describes the purpose of the prompt.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.fields
            .insert("description".to_owned(), description.into().into());
        self
    }

    /// Adds a required argument.
    #[must_use]
    pub fn required(self, name: &str, description: &str) -> Self {
        self.argument(name, description, true)
    }

    /// Adds an optional argument.
    #[must_use]
    pub fn optional(self, name: &str, description: &str) -> Self {
        self.argument(name, description, false)
    }

    /// Completes an argument: the function receives the typed text, and returns suggestions.
    #[must_use]
    pub fn complete(
        mut self,
        argument: &str,
        complete: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.completers.add(argument, complete);
        self
    }

    fn argument(mut self, name: &str, description: &str, required: bool) -> Self {
        self.arguments
            .push(json!({ "name": name, "description": description, "required": required }));
        self
    }

    pub(crate) fn into_parts(mut self) -> (Item, Value, Completers) {
        let mut object = Map::new();
        object.insert("name".to_owned(), self.name.clone().into());
        object.append(&mut self.fields);
        if !self.arguments.is_empty() {
            object.insert("arguments".to_owned(), self.arguments.into());
        }
        let item = Item {
            kind: Kind::Prompt,
            name: self.name,
        };
        (item, object.into(), self.completers)
    }
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(Value);

impl Message {
    /// Creates a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::of("user", text.into())
    }

    /// Creates a message of the assistant.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::of("assistant", text.into())
    }

    fn of(role: &str, text: String) -> Self {
        Self(json!({ "role": role, "content": { "type": "text", "text": text } }))
    }
}

/// Returns the handler of a prompt.
pub(crate) fn handler<Fut>(
    get: impl Fn(BTreeMap<String, String>, Call) -> Fut + Send + Sync + 'static,
    completers: Completers,
) -> Handler
where
    Fut: Future<Output = Result<Vec<Message>, CallError>> + Send + 'static,
{
    Arc::new(move |message, call| {
        let request = match message {
            BridgeToPage::PromptGet(request) => request,
            BridgeToPage::Completion(request) => {
                return Box::pin(std::future::ready(completers.answer(&request.argument)));
            }
            _ => return Box::pin(std::future::ready(unexpected())),
        };
        let arguments = serde_json::from_str(request.arguments.get()).unwrap_or_default();
        let run = get(arguments, call);
        Box::pin(async move {
            match run.await {
                Ok(messages) => {
                    let messages: Vec<_> = messages.into_iter().map(|Message(json)| json).collect();
                    returned(&json!({ "messages": messages }))
                }
                Err(error) => error.into_outcome(),
            }
        })
    })
}
