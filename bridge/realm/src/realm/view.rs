//! Read access to sessions, for interfaces with their own rules for lists and routes.

use std::sync::Arc;

use bridge_protocol::{Kind, SessionId};

use super::session::ResourceMatch;
use super::{Realm, Session};
use crate::definition::tool::SharedTool;
use crate::definition::{PublishedItem, SharedDefinition};

impl Realm {
    /// All sessions, in order of connection.
    pub fn iter_sessions(&self) -> impl ExactSizeIterator<Item = (&SessionId, &Session)> {
        self.sessions.iter()
    }

    /// Whether any page has registered its definitions.
    pub fn has_registered_page(&self) -> bool {
        self.sessions.values().any(Session::has_registered)
    }

    /// The session with this id.
    pub fn session(&self, id: &SessionId) -> Option<(&SessionId, &Session)> {
        self.sessions.get_key_value(id)
    }
}

impl Session {
    /// The tools of the session, in order of registration.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<SharedTool>> {
        self.definitions(Kind::Tool).filter_map(as_tool)
    }

    /// The tool that is registered or published under this name.
    pub fn tool(&self, name: &str) -> Option<&Arc<SharedTool>> {
        self.item(Kind::Tool, name).and_then(as_tool)
    }

    /// The resources of the session, in order of registration.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<PublishedItem>> {
        self.definitions(Kind::Resource).filter_map(as_resource)
    }

    /// How the session serves a URI; `None` if it does not.
    pub fn match_resource(&self, uri: &str) -> Option<ResourceMatch> {
        self.resource_match(uri)
    }
}

fn as_tool(definition: &SharedDefinition) -> Option<&Arc<SharedTool>> {
    match definition {
        SharedDefinition::Tool(tool) => Some(tool),
        _ => None,
    }
}

fn as_resource(definition: &SharedDefinition) -> Option<&Arc<PublishedItem>> {
    match definition {
        SharedDefinition::Resource(listed) => Some(listed),
        _ => None,
    }
}
