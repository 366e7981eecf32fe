//! Resources and templates, which clients can read.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bridge_protocol::BridgeToPage;
use serde_json::{Map, Value, json};
use web_sdk_core::{HandlerOutcome, Item, Kind};

use crate::call::Call;
use crate::completion::{Completers, returned};
use crate::definition::Handler;
use crate::error::CallError;
use crate::tool::unexpected;

/// A resource: content that clients can read, and whose changes they can subscribe to.
#[derive(Clone, Debug)]
pub struct Resource {
    uri: String,
    fields: Map<String, Value>,
}

impl Resource {
    /// Creates a resource with an absolute URI.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), name.into().into());
        Self {
            uri: uri.into(),
            fields,
        }
    }

    /// Describes the resource.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.fields
            .insert("description".to_owned(), description.into().into());
        self
    }

    /// Sets the MIME type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.fields
            .insert("mimeType".to_owned(), mime_type.into().into());
        self
    }

    pub(crate) fn into_definition(self) -> (Item, Value) {
        let mut object = Map::new();
        object.insert("uri".to_owned(), self.uri.clone().into());
        object.extend(self.fields);
        let item = Item {
            kind: Kind::Resource,
            name: self.uri,
        };
        (item, object.into())
    }
}

/// All resources whose URIs fit a template (RFC 6570), such as `notes://note/{id}`.
#[derive(Clone, Debug)]
pub struct ResourceTemplate {
    template: String,
    resource: Resource,
    completers: Completers,
}

impl ResourceTemplate {
    /// Creates a template.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            template: uri_template.into(),
            resource: Resource::new("", name),
            completers: Completers::default(),
        }
    }

    /// Describes the resources.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.resource = self.resource.describe(description);
        self
    }

    /// Sets the MIME type of all of them.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.resource = self.resource.mime_type(mime_type);
        self
    }

    /// Completes a variable: the function receives the typed text, and returns suggestions.
    #[must_use]
    pub fn complete(
        mut self,
        variable: &str,
        complete: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.completers.add(variable, complete);
        self
    }

    pub(crate) fn into_parts(self) -> (Item, Value, Completers) {
        let mut object = Map::new();
        object.insert("uriTemplate".to_owned(), self.template.clone().into());
        object.extend(self.resource.fields);
        let item = Item {
            kind: Kind::ResourceTemplate,
            name: self.template,
        };
        (item, object.into(), self.completers)
    }
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceContent {
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<String> for ResourceContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ResourceContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<u8>> for ResourceContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// A request of a client to read a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// The URI.
    pub uri: String,
    /// The variables of the template; empty for a resource with a fixed URI.
    pub variables: BTreeMap<String, String>,
}

/// Returns the handler of a resource or a template.
pub(crate) fn handler<Content, Fut>(
    read: impl Fn(ReadRequest, Call) -> Fut + Send + Sync + 'static,
    mime_type: Option<String>,
    completers: Completers,
) -> Handler
where
    Content: Into<ResourceContent>,
    Fut: Future<Output = Result<Content, CallError>> + Send + 'static,
{
    Arc::new(move |message, call| {
        let request = match message {
            BridgeToPage::ResourceRead(request) => request,
            BridgeToPage::Completion(request) => {
                return Box::pin(std::future::ready(completers.answer(&request.argument)));
            }
            _ => return Box::pin(std::future::ready(unexpected())),
        };
        let uri = request.uri.clone();
        let mime_type = mime_type.clone();
        let request = ReadRequest {
            uri: request.uri,
            variables: request.variables.unwrap_or_default(),
        };
        let run = read(request, call);
        Box::pin(async move {
            match run.await {
                Ok(content) => contents(&uri, mime_type, content.into()),
                Err(error) => error.into_outcome(),
            }
        })
    })
}

fn contents(
    uri: &str,
    mime_type: Option<String>,
    content: ResourceContent,
) -> HandlerOutcome<String> {
    let mut part = Map::new();
    part.insert("uri".to_owned(), uri.into());
    part.extend(mime_type.map(|it| ("mimeType".to_owned(), it.into())));
    let (key, value) = match content {
        ResourceContent::Text(text) => ("text", text),
        ResourceContent::Bytes(bytes) => ("blob", BASE64_STANDARD.encode(bytes)),
    };
    part.insert(key.to_owned(), value.into());
    returned(&json!({ "contents": [part] }))
}
