//! The definitions that pages register: tools, prompts, resources and resource templates, both as
//! registered and as published.
//!
//! [`registry`] parses a registration and stores equal definitions once ([`interner`], by
//! [`hash`]). A [`tool`] is parsed on first use, and its schemas are repaired for clients.
//! [`reserved`] has the names that belong to the bridge itself, and [`uri_template`] matches URIs.

pub mod hash;
mod interner;
mod registry;
pub mod reserved;
pub mod tool;
mod uri_template;

pub use registry::{
    Definition, DefinitionCheck, DefinitionError, DefinitionRegistry, PublishedItem, Template,
};
pub use tool::{SESSION_ARGUMENT, Tool};
pub use uri_template::{MAX_URI_BYTES, UriTemplate};
