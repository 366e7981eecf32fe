//! A session: one tab. It outlives its connections.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use bridge_protocol::{
    CallId, ErrorCode, Item, Kind, PageState, RegistrationFailure, SessionId, Visibility,
};
use chrono::{DateTime, SecondsFormat};
use indexmap::{Equivalent, IndexMap, IndexSet};
use serde::Serialize;

use super::deadlines::Deadline;
use super::{ConnectionId, Now, RealmLimits};
use crate::definition::Definition;
use crate::tool;

/// What a page says of itself when it connects, and what its socket says of it.
#[derive(Clone, Debug)]
pub(crate) struct PageHello {
    pub(crate) session: SessionId,
    pub(crate) name: Option<String>,
    /// The `Origin` header; absent for pages outside a browser.
    pub(crate) origin: Option<String>,
    pub(crate) page_title: Option<String>,
    /// The name of the app that the page belongs to.
    pub(crate) app: Option<String>,
}

/// What a page says of itself is shown to people and models, and kept: so much of each text.
const SHOWN_CHARS: usize = 256;

impl PageHello {
    fn shortened(self) -> Self {
        Self {
            name: self.name.map(shortened),
            page_title: self.page_title.map(shortened),
            app: self.app.map(shortened),
            ..self
        }
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Whether the page can be reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// A socket is open.
    Connected {
        connection: ConnectionId,
        heartbeat_due: Instant,
        /// The last heartbeat sent.
        sequence: u64,
        /// The last heartbeat answered.
        answered: u64,
    },
    /// The connection broke; tools stay listed and calls wait until then.
    Away { until: Instant },
}

impl Phase {
    pub(super) fn connection(&self) -> Option<ConnectionId> {
        match self {
            Phase::Connected { connection, .. } => Some(*connection),
            Phase::Away { .. } => None,
        }
    }

    pub(super) fn deadline(&self, id: &SessionId) -> (Instant, Deadline) {
        let at = match self {
            Phase::Connected { heartbeat_due, .. } => *heartbeat_due,
            Phase::Away { until } => *until,
        };
        (at, Deadline::Session(id.clone()))
    }
}

/// A definition of this session and the number of the registration that brought it.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) definition: Definition,
    pub(super) registration: u64,
}

#[derive(Debug)]
pub(crate) struct Session {
    hello: PageHello,
    pub(super) phase: Phase,
    pub(super) items: IndexMap<Item, Registered>,
    pub(super) calls: IndexSet<CallId>,
    /// The items are those of a former connection; the next registration replaces them.
    items_are_former: bool,
    /// The URIs of this session that clients are subscribed to.
    pub(super) subscribed: BTreeSet<String>,
    /// Those that the page knows of, on this connection.
    pub(super) told_subscriptions: BTreeSet<String>,
    visibility: Option<Visibility>,
    focused: bool,
    connected_at_ms: u64,
    pub(super) last_activity_ms: u64,
}

impl Session {
    pub(super) fn new(hello: PageHello, phase: Phase, now: Now) -> Self {
        Self {
            hello: hello.shortened(),
            phase,
            items: IndexMap::new(),
            calls: IndexSet::new(),
            items_are_former: false,
            subscribed: BTreeSet::new(),
            told_subscriptions: BTreeSet::new(),
            visibility: None,
            focused: false,
            connected_at_ms: now.unix_ms,
            last_activity_ms: now.unix_ms,
        }
    }

    /// The page is back on a new connection.
    pub(super) fn came_back(&mut self, hello: PageHello, now: Now) {
        self.hello = hello.shortened();
        self.items_are_former = true;
        self.told_subscriptions.clear();
        self.last_activity_ms = now.unix_ms;
    }

    pub(super) fn state_changed(&mut self, state: PageState, now: Now) {
        self.visibility = Some(state.visibility);
        self.focused = state.focused;
        self.last_activity_ms = now.unix_ms;
        if let Some(title) = state.page_title {
            self.hello.page_title = Some(shortened(title));
        }
    }

    /// Drops the items of a former connection, once, and says which those were.
    pub(super) fn take_former_items(&mut self) -> Option<Lists> {
        if !std::mem::take(&mut self.items_are_former) {
            return None;
        }
        let former = self.lists();
        self.items.clear();
        self.subscribed.clear();
        Some(former)
    }

    /// What the lists of each kind are made of.
    pub(super) fn lists(&self) -> Lists {
        let mut lists = Lists::new();
        for item in self.items.values() {
            let definition = &item.definition;
            let list = lists.entry(definition.kind()).or_default();
            list.push(definition.hash());
        }
        lists
    }

    /// The size of all definitions.
    pub(super) fn definition_bytes(&self) -> usize {
        self.items
            .values()
            .map(|item| item.definition.bytes())
            .sum()
    }

    /// Registers an item, or replaces the one of that name in its place. True when that changes
    /// what clients see. `total` is [`Session::definition_bytes`], before and after: a batch adds
    /// it up once.
    pub(super) fn register(
        &mut self,
        index: usize,
        definition: Definition,
        registration: u64,
        limits: &RealmLimits,
        total: &mut usize,
    ) -> Result<bool, RegistrationFailure> {
        let item = definition.item();
        let replaced = self.items.get(&item).map(|old| &old.definition);
        let bytes = *total - replaced.map_or(0, Definition::bytes) + definition.bytes();
        let refusal = if replaced.is_none() && self.items.len() >= limits.definitions_per_session {
            Some(format!(
                "this page has {} definitions, which is the limit: remove some, or raise \
                 `max_definitions`",
                limits.definitions_per_session
            ))
        } else if bytes > limits.definition_bytes_per_session {
            Some(format!(
                "with this one the definitions of the page have {bytes} bytes, and {} is the \
                 limit: shorten them, or raise `max_definition_bytes`",
                limits.definition_bytes_per_session
            ))
        } else {
            None
        };
        if let Some(message) = refusal {
            return Err(RegistrationFailure {
                index,
                name: Some(item.name),
                code: ErrorCode::DefinitionLimitExceeded,
                message,
            });
        }
        if let Some(other) = self.of_same_published_name(&definition) {
            let message = format!(
                "clients would know it as `{}`, like {:?}: choose another name",
                definition.published_name(),
                other.name()
            );
            return Err(RegistrationFailure {
                index,
                name: Some(item.name),
                code: ErrorCode::DefinitionInvalid,
                message,
            });
        }
        let changed = replaced.is_none_or(|old| old.hash() != definition.hash());
        *total = bytes;
        self.items.insert(
            item,
            Registered {
                definition,
                registration,
            },
        );
        Ok(changed)
    }

    /// Another definition that clients could not tell from this one.
    fn of_same_published_name(&self, definition: &Definition) -> Option<&Definition> {
        let published = definition.published_name();
        if !tool::looks_repaired(published) {
            return None;
        }
        self.definitions(definition.kind())
            .find(|other| other.published_name() == published && other.name() != definition.name())
    }

    pub(super) fn unregister(&mut self, item: &Item) -> bool {
        let Some(removed) = self.items.shift_remove(item) else {
            return false;
        };
        let served = |uri: &String| removed.definition.serves(uri);
        let served: Vec<_> = self.subscribed.iter().filter(|uri| served(uri)).collect();
        let unserved: Vec<_> = served
            .into_iter()
            .filter(|uri| !self.serves(uri))
            .cloned()
            .collect();
        for uri in unserved {
            self.subscribed.remove(&uri);
        }
        true
    }

    /// Whether the page serves a URI, itself or through a template.
    pub(super) fn serves(&self, uri: &str) -> bool {
        let kind = Kind::Resource;
        self.items.contains_key(&Named { kind, name: uri })
            || self
                .definitions(Kind::ResourceTemplate)
                .any(|definition| definition.serves(uri))
    }

    /// What clients know under this name, or what the page registered under it.
    pub(super) fn item(&self, kind: Kind, name: &str) -> Option<&Definition> {
        self.items
            .get(&Named { kind, name })
            .map(|item| &item.definition)
            .or_else(|| {
                self.definitions(kind)
                    .find(|definition| definition.published_name() == name)
            })
    }

    pub(super) fn definitions(&self, kind: Kind) -> impl Iterator<Item = &Definition> {
        self.items
            .values()
            .map(|item| &item.definition)
            .filter(move |definition| definition.kind() == kind)
    }

    /// How this session serves a resource: itself, or through the first template that fits.
    pub(super) fn resource(&self, uri: &str) -> Option<Served> {
        if self.item(Kind::Resource, uri).is_some() {
            return Some(Served::Itself);
        }
        self.definitions(Kind::ResourceTemplate)
            .find_map(|definition| match definition {
                Definition::Template(template) => {
                    let variables = template.matches(uri)?;
                    Some(Served::Through(template.listed.name.clone(), variables))
                }
                _ => None,
            })
    }

    pub(super) fn summary(&self, id: &SessionId) -> SessionSummary {
        SessionSummary {
            session_id: id.clone(),
            session_name: self.hello.name.clone(),
            app: self.hello.app.clone(),
            origin: self.hello.origin.clone(),
            page_title: self.hello.page_title.clone(),
            connected_at: iso_8601(self.connected_at_ms),
            last_activity: iso_8601(self.last_activity_ms),
            visibility: self.visibility,
            focused: self.focused,
            connected: self.phase.connection().is_some(),
            available_tools: self
                .definitions(Kind::Tool)
                .map(|tool| tool.published_name().to_owned())
                .collect(),
        }
    }
}

/// The hashes of the definitions of each kind, in order.
pub(super) type Lists = BTreeMap<Kind, Vec<[u8; 32]>>;

/// How a session serves a URI.
#[derive(Debug)]
pub(crate) enum Served {
    /// As a resource of that URI.
    Itself,
    /// As a template, with these variables.
    Through(String, BTreeMap<String, String>),
}

/// An [`Item`] to look for.
#[derive(Hash)]
struct Named<'a> {
    kind: Kind,
    name: &'a str,
}

impl Equivalent<Item> for Named<'_> {
    fn equivalent(&self, item: &Item) -> bool {
        self.kind == item.kind && self.name == item.name
    }
}

/// A session as people and models see it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SessionSummary {
    pub(crate) session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_title: Option<String>,
    connected_at: String,
    last_activity: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Visibility>,
    focused: bool,
    /// False while the page is away and may still come back.
    connected: bool,
    available_tools: Vec<String>,
}

/// RFC 3339 with milliseconds, in UTC.
fn iso_8601(unix_ms: u64) -> String {
    i64::try_from(unix_ms)
        .ok()
        .and_then(DateTime::from_timestamp_millis)
        .map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
        .unwrap_or_default()
}
