//! The definitions that pages register: tools, prompts, resources and resource templates, both as
//! registered and as published.
//!
//! [`definition_registry`] parses a registration and stores equal definitions once ([`interner`], by
//! [`hash`]). A [`tool`] is parsed on first use, and its schemas are repaired for clients, as all
//! other fields are by [`mcp_fields`].
//! [`invisible`] removes invisible characters from texts, and refuses names with some.
//! [`reserved`] has the names that belong to the bridge itself, and [`uri_template`] matches URIs.

mod definition_error;
mod definition_registry;
pub mod hash;
mod interner;
mod invisible;
pub mod mcp_fields;
mod published_item;
pub mod reserved;
pub mod tool;
mod uri;
mod uri_template;

pub use definition_error::DefinitionError;
pub use definition_registry::{
    DefinitionCheck, DefinitionLimits, DefinitionRegistry, SharedDefinition,
};
pub use published_item::{PublishedItem, Template};
pub use tool::{SESSION_ARGUMENT, SharedTool};
pub use uri::check_uri;
pub use uri_template::{MAX_URI_BYTES, UriTemplate};
