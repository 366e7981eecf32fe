//! Read access to sessions, for interfaces with their own rules for lists and routes.

use std::sync::Arc;

use bridge_protocol::{Kind, SessionId};
use web_time::Instant;

use super::routing::{self, SessionTarget, find_session};
use super::session::ResourceMatch;
use super::{Realm, Session};
use crate::definition::tool::SharedTool;
use crate::definition::{PublishedItem, SharedDefinition};

impl Realm {
    /// All sessions, in order of connection.
    pub fn iter_sessions(&self) -> impl ExactSizeIterator<Item = (&SessionId, &Session)> {
        self.sessions.iter()
    }

    /// The session that a request means which names none, if there is only one, or if it is the page
    /// that was opened after all others had died.
    pub fn only_session(&self) -> Option<&SessionId> {
        routing::only_session(&self.sessions)
    }

    /// Whether any page has registered its definitions.
    pub fn has_registered_page(&self) -> bool {
        self.sessions.values().any(Session::has_registered)
    }

    /// When the session of the latest page began, if the page has registered nothing yet.
    pub fn unregistered_since(&self) -> Option<Instant> {
        let (_, latest) = self.sessions.last()?;
        (!latest.has_registered()).then(|| latest.began())
    }

    /// Whether the page that is selected, or any page, has an item of this kind and name. The name of a
    /// resource is its URI.
    pub fn has_item(&self, kind: Kind, name: &str, target: &SessionTarget) -> bool {
        let has_item = |session: &Session| match kind {
            Kind::Resource => session.resource_match(name).is_some(),
            _ => session.item(kind, name).is_some(),
        };
        match target {
            SessionTarget::Session(id) => {
                find_session(&self.sessions, id).is_some_and(|(_, session)| has_item(session))
            }
            SessionTarget::Any => self.sessions.values().any(has_item),
        }
    }

    /// Whether the page with this id or name has registered its definitions.
    pub fn has_registered(&self, id_or_name: &SessionId) -> bool {
        let found = find_session(&self.sessions, id_or_name);
        found.is_some_and(|(_, session)| session.has_registered())
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
