//! Which session a call goes to, and what is listed.

use bridge_protocol::{Kind, SessionId};
use indexmap::IndexMap;

use super::Session;
use super::catalogue::OfflineApp;
use super::session::{ResourceMatch, SessionSummary};
use crate::definition::Definition;
use crate::fast_hash::FastHash;
use crate::policy::AmbiguousCalls;

/// What the caller said about the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// This one, by its id or its name (argument `session_id`, `_meta["mcp-web/sessionId"]`, or the
    /// client's pin).
    Session(SessionId),
    /// The only one that has what is asked for.
    Any,
}

/// Why a call has nowhere to go.
#[derive(Debug)]
pub enum RouteError {
    /// No page is connected.
    NoSessions,
    /// The named session is not there.
    SessionNotFound {
        session: SessionId,
        available: Vec<SessionSummary>,
    },
    /// No session has it, or the named one has not.
    NotFound {
        name: String,
        available: Vec<String>,
    },
    /// An app had it whose last page has left.
    AppNotOpen { name: String, app: OfflineApp },
    /// Several have it.
    Ambiguous {
        name: String,
        available: Vec<SessionSummary>,
    },
}

impl RouteError {
    /// What the error is when it was not found among the pages that are open.
    pub(super) fn or_offline_app(
        self,
        name: &str,
        target: &Target,
        closed: impl FnOnce() -> Option<OfflineApp>,
    ) -> Self {
        match (&self, target) {
            (RouteError::NoSessions | RouteError::NotFound { .. }, Target::Any) => {
                let name = name.to_owned();
                closed().map_or(self, |app| RouteError::AppNotOpen { name, app })
            }
            _ => self,
        }
    }
}

pub(super) type SessionMap = IndexMap<SessionId, Session, FastHash>;

/// Finds what clients know under a name.
pub(super) fn route(
    sessions: &SessionMap,
    kind: Kind,
    name: &str,
    target: &Target,
    policy: AmbiguousCalls,
) -> Result<(SessionId, Definition), RouteError> {
    route_among(sessions, None, kind, name, target, policy)
}

/// The same, where only these sessions can have it.
pub(super) fn route_among(
    sessions: &SessionMap,
    among: Option<&[SessionId]>,
    kind: Kind,
    name: &str,
    target: &Target,
    policy: AmbiguousCalls,
) -> Result<(SessionId, Definition), RouteError> {
    let available = |sessions: &[&Session]| published_names(kind, sessions.iter().copied());
    disambiguate(
        sessions,
        among,
        name,
        target,
        policy,
        available,
        |session| session.item(kind, name).cloned(),
    )
}

/// Finds what serves a URI. A resource of that very URI goes before any template that fits.
pub(super) fn route_resource(
    sessions: &SessionMap,
    uri: &str,
    target: &Target,
    policy: AmbiguousCalls,
) -> Result<(SessionId, ResourceMatch), RouteError> {
    let available = |sessions: &[&Session]| {
        let mut available = published_names(Kind::Resource, sessions.iter().copied());
        available.extend(published_names(
            Kind::ResourceTemplate,
            sessions.iter().copied(),
        ));
        available
    };
    let directly = |session: &Session| {
        let found = session.item(Kind::Resource, uri)?;
        matches!(found, Definition::Resource(_)).then_some(ResourceMatch::Exact)
    };
    match disambiguate(sessions, None, uri, target, policy, available, directly) {
        Err(RouteError::NotFound { .. }) => {
            let through = |session: &Session| session.resource_match(uri);
            disambiguate(sessions, None, uri, target, policy, available, through)
        }
        found => found,
    }
}

fn disambiguate<T>(
    sessions: &SessionMap,
    among: Option<&[SessionId]>,
    name: &str,
    target: &Target,
    policy: AmbiguousCalls,
    available: impl Fn(&[&Session]) -> Vec<String>,
    find: impl Fn(&Session) -> Option<T>,
) -> Result<(SessionId, T), RouteError> {
    if sessions.is_empty() {
        return Err(RouteError::NoSessions);
    }
    let not_found = |sessions: &[&Session]| RouteError::NotFound {
        name: name.to_owned(),
        available: available(sessions),
    };
    match target {
        Target::Session(id) => {
            let (id, session) =
                find_session(sessions, id).ok_or_else(|| RouteError::SessionNotFound {
                    session: id.clone(),
                    available: summaries(sessions.iter()),
                })?;
            let found = find(session).ok_or_else(|| not_found(&[session]))?;
            Ok((id.clone(), found))
        }
        Target::Any => {
            if let Some([only]) = among
                && let Some((id, session)) = sessions.get_key_value(only)
                && let Some(found) = find(session)
            {
                return Ok((id.clone(), found));
            }
            let found = |(id, session)| Some((id, session, find(session)?));
            let mut having: Vec<(&SessionId, &Session, T)> = match among {
                Some(ids) => ids
                    .iter()
                    .filter_map(|id| sessions.get_key_value(id))
                    .filter_map(found)
                    .collect(),
                None => sessions.iter().filter_map(found).collect(),
            };
            if having.len() > 1
                && let Some(place) = preferred_session(&having, policy)
            {
                having = vec![having.swap_remove(place)];
            }
            match (having.len(), having.pop()) {
                (1, Some((id, _, found))) => Ok((id.clone(), found)),
                (_, None) => Err(not_found(&sessions.values().collect::<Vec<_>>())),
                (_, Some(last)) => {
                    having.push(last);
                    Err(RouteError::Ambiguous {
                        name: name.to_owned(),
                        available: summaries(having.iter().map(|(id, session, _)| (*id, *session))),
                    })
                }
            }
        }
    }
}

/// The session of this id, or else of this name: ids are random, names last.
pub(super) fn find_session<'a>(
    sessions: &'a SessionMap,
    id: &SessionId,
) -> Option<(&'a SessionId, &'a Session)> {
    sessions.get_key_value(id).or_else(|| {
        let mut sessions = sessions.iter();
        sessions.find(|(_, session)| session.is_named(id.as_str()))
    })
}

/// The one of several that the operator allows to be taken unasked.
fn preferred_session<T>(
    having: &[(&SessionId, &Session, T)],
    policy: AmbiguousCalls,
) -> Option<usize> {
    let candidates = || having.iter().enumerate();
    let mut focused = candidates().filter(|(_, (_, session, _))| session.is_focused());
    let focused = match (focused.next(), focused.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    };
    match policy {
        AmbiguousCalls::Ask => None,
        AmbiguousCalls::Focused => focused,
        AmbiguousCalls::LastActive => focused.or_else(|| {
            let last = candidates().max_by_key(|(_, (_, session, _))| session.last_activity_ms);
            last.map(|(index, _)| index)
        }),
    }
}

pub(super) fn published<'a>(
    kind: Kind,
    sessions: impl Iterator<Item = &'a Session>,
    remembered: impl Iterator<Item = &'a Definition>,
) -> Vec<Definition> {
    let mut by_name: IndexMap<&str, (u64, &Definition)> = IndexMap::new();
    for session in sessions {
        for item in session.items.iter() {
            let definition = &item.definition;
            if definition.kind() != kind {
                continue;
            }
            let entry = (item.registration, definition);
            by_name
                .entry(definition.published_name())
                .and_modify(|listed| {
                    if listed.0 < entry.0 {
                        *listed = entry;
                    }
                })
                .or_insert(entry);
        }
    }
    for definition in remembered.filter(|it| it.kind() == kind) {
        by_name
            .entry(definition.published_name())
            .or_insert((0, definition));
    }
    by_name
        .into_values()
        .map(|(_, definition)| definition.clone())
        .collect()
}

fn published_names<'a>(kind: Kind, sessions: impl Iterator<Item = &'a Session>) -> Vec<String> {
    published(kind, sessions, std::iter::empty())
        .iter()
        .map(|definition| definition.published_name().to_owned())
        .collect()
}

fn summaries<'a>(
    sessions: impl Iterator<Item = (&'a SessionId, &'a Session)>,
) -> Vec<SessionSummary> {
    sessions.map(|(id, session)| session.summary(id)).collect()
}
