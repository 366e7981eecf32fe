//! What pages register: tools, prompts, resources and resource templates, as written and as published.
//!
//! [`registry`] parses a registration and keeps one copy of equal definitions ([`interner`], by
//! [`hash`]). A [`tool`] is parsed when something of it is needed, with its schemas repaired for clients.
//! [`reserved`] has the names that belong to the bridge itself, [`uri_template`] matches URIs.

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
