//! Messages about the tools, prompts, resources and templates that a page registers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ErrorCode, RegistrationId};

/// The kinds of items that a page can register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An MCP tool, identified by its `name`.
    Tool,
    /// An MCP prompt, identified by its `name`.
    Prompt,
    /// An MCP resource, identified by its `uri`.
    Resource,
    /// An MCP resource template, identified by its `uriTemplate`.
    ResourceTemplate,
}

/// Registers items. All valid ones are registered; the answer lists the invalid ones.
///
/// The first registration on a connection is the page's complete set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Register {
    /// The id of the request, repeated in the answer.
    pub registration_id: RegistrationId,
    /// The items to register, in order.
    pub items: Vec<Definition>,
}

/// An item to register.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// The kind of the item.
    pub kind: Kind,
    /// The complete MCP object, verbatim.
    pub definition: Box<RawValue>,
}

/// Unregisters items. An item that is not registered is not an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregister {
    /// The id of the request, repeated in the answer.
    pub registration_id: RegistrationId,
    /// The items to unregister.
    pub items: Vec<Item>,
}

/// An item that is or was registered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The kind of the item.
    pub kind: Kind,
    /// The name, URI or URI template, as registered.
    pub name: String,
}

/// Answers [`Register`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// The id of the request.
    pub registration_id: RegistrationId,
    /// The items that clients can use now.
    pub items: Vec<RegisteredItem>,
    /// The items that were rejected, each with its reason.
    pub errors: Vec<RegistrationFailure>,
}

/// A registered item that clients can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredItem {
    /// The kind of the item.
    pub kind: Kind,
    /// The name, URI or URI template, as registered.
    pub name: String,
    /// The name that clients see. It differs from `name` if clients would
    /// reject that.
    pub published_name: String,
}

/// An item that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationFailure {
    /// The index of the item in the request, from 0.
    pub index: usize,
    /// The name of the item, if it has a valid one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The machine-readable reason.
    pub code: ErrorCode,
    /// The reason in words, with what to do.
    pub message: String,
}

/// Answers [`Unregister`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregistered {
    /// The id of the request.
    pub registration_id: RegistrationId,
    /// The items that were registered before and are not any more.
    pub items: Vec<Item>,
}

/// Reports that the content of a resource changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceUpdated {
    /// The URI of the resource.
    pub uri: String,
}

/// Lists the resources of this page that clients are subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscriptions {
    /// The URIs of the resources, in alphabetical order.
    pub uris: Vec<String>,
}
