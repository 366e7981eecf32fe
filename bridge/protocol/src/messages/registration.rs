//! What a page registers, and what changes of it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ErrorCode, RegistrationId};

/// What a page can register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An MCP tool, known by its `name`.
    Tool,
    /// An MCP prompt, known by its `name`.
    Prompt,
    /// An MCP resource, known by its `uri`.
    Resource,
    /// An MCP resource template, known by its `uriTemplate`.
    ResourceTemplate,
}

/// Registers things. All good ones are registered; bad ones are named in the answer. The first
/// registration on a connection is the page's whole set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Register {
    /// Echoed in the answer.
    pub registration_id: RegistrationId,
    /// What to register, in order.
    pub items: Vec<Definition>,
}

/// One thing to register.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// What it is.
    pub kind: Kind,
    /// The whole MCP object, verbatim.
    pub definition: Box<RawValue>,
}

/// Takes things back. Those that are not registered are no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregister {
    /// Echoed in the answer.
    pub registration_id: RegistrationId,
    /// What to take back.
    pub items: Vec<Item>,
}

/// Something that is registered, or was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its name, URI or URI template, as registered.
    pub name: String,
}

/// What became of a registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// The registration.
    pub registration_id: RegistrationId,
    /// What clients can use now.
    pub items: Vec<RegisteredItem>,
    /// What was refused, each with its reason.
    pub errors: Vec<RegistrationFailure>,
}

/// Something that clients can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredItem {
    /// What it is.
    pub kind: Kind,
    /// Its name, URI or URI template, as registered.
    pub name: String,
    /// The name that clients see: the same, unless it had to be repaired.
    pub published_name: String,
}

/// Something that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationFailure {
    /// Its place in the registration, from 0.
    pub index: usize,
    /// Its name, if it has a readable one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The reason as a word.
    pub code: ErrorCode,
    /// The reason in words, with what to do.
    pub message: String,
}

/// They are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregistered {
    /// The registration.
    pub registration_id: RegistrationId,
    /// What was registered and is gone now.
    pub items: Vec<Item>,
}

/// The content of a resource changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceUpdated {
    /// Which one.
    pub uri: String,
}

/// Which resources clients are subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscriptions {
    /// Their URIs, in the order of the alphabet; those that this page serves.
    pub uris: Vec<String>,
}
