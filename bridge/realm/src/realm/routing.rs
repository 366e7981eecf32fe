//! Routing: the session that a call goes to, and the list of published items.

use bridge_protocol::{Kind, SessionId};
use indexmap::IndexMap;

use super::Session;
use super::catalogue::OfflineApp;
use super::routing_error::RoutingError;
use super::session::{ResourceMatch, SessionSummary};
use crate::definition::SharedDefinition;
use crate::fast_hash::FastHash;
use crate::policy::AmbiguousCalls;

/// The session that a caller requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionTarget {
    /// The session with this id or name (argument `session_id`, `_meta["mcp-web/sessionId"]`, or
    /// the client's pin).
    Session(SessionId),
    /// The only session that has the requested item.
    Any,
}

impl RoutingError {
    /// Turns the error into [`RoutingError::AppNotOpen`] if an app in the catalogue has the item.
    pub(super) fn or_offline_app(
        self,
        name: &str,
        target: &SessionTarget,
        offline_app: impl FnOnce() -> Option<OfflineApp>,
    ) -> Self {
        match (&self, target) {
            (RoutingError::NoSessions | RoutingError::NotFound { .. }, SessionTarget::Any) => {
                let name = name.to_owned();
                offline_app().map_or(self, |app| RoutingError::AppNotOpen { name, app })
            }
            _ => self,
        }
    }
}

/// The sessions of a realm, in order of connection.
pub(super) type SessionMap = IndexMap<SessionId, Session, FastHash>;

/// Finds the session that has an item of this kind and name.
pub(super) fn route(
    sessions: &SessionMap,
    kind: Kind,
    name: &str,
    target: &SessionTarget,
    policy: AmbiguousCalls,
) -> Result<(SessionId, SharedDefinition), RoutingError> {
    route_among(sessions, None, kind, name, target, policy)
}

/// Finds the session that has an item of this kind and name. Only the sessions in `among` are
/// searched; `None` means all.
pub(super) fn route_among(
    sessions: &SessionMap,
    among: Option<&[SessionId]>,
    kind: Kind,
    name: &str,
    target: &SessionTarget,
    policy: AmbiguousCalls,
) -> Result<(SessionId, SharedDefinition), RoutingError> {
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

/// Finds the session that serves a URI. A resource with exactly this URI takes precedence over all
/// templates that match. Without any page, a resource does not exist.
pub(super) fn route_resource(
    sessions: &SessionMap,
    uri: &str,
    target: &SessionTarget,
    policy: AmbiguousCalls,
) -> Result<(SessionId, ResourceMatch), RoutingError> {
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
        matches!(found, SharedDefinition::Resource(_)).then_some(ResourceMatch::Exact)
    };
    match disambiguate(sessions, None, uri, target, policy, available, directly) {
        Err(RoutingError::NoSessions) => Err(RoutingError::NotFound {
            name: uri.to_owned(),
            available: Vec::new(),
        }),
        Err(RoutingError::NotFound { .. }) => {
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
    target: &SessionTarget,
    policy: AmbiguousCalls,
    available: impl Fn(&[&Session]) -> Vec<String>,
    find: impl Fn(&Session) -> Option<T>,
) -> Result<(SessionId, T), RoutingError> {
    if sessions.is_empty() {
        return Err(RoutingError::NoSessions);
    }
    let not_found = |sessions: &[&Session]| RoutingError::NotFound {
        name: name.to_owned(),
        available: available(sessions),
    };
    match target {
        SessionTarget::Session(id) => {
            let (id, session) =
                find_session(sessions, id).ok_or_else(|| RoutingError::SessionNotFound {
                    session: id.clone(),
                    available: summaries(sessions.iter()),
                })?;
            let found = find(session).ok_or_else(|| not_found(&[session]))?;
            Ok((id.clone(), found))
        }
        SessionTarget::Any => {
            if let Some([only]) = among
                && let Some((id, session)) = sessions.get_key_value(only)
                && let Some(found) = find(session)
            {
                return Ok((id.clone(), found));
            }
            let found = |(id, session)| Some((id, session, find(session)?));
            let mut holders: Vec<(&SessionId, &Session, T)> = match among {
                Some(ids) => ids
                    .iter()
                    .filter_map(|id| sessions.get_key_value(id))
                    .filter_map(found)
                    .collect(),
                None => sessions.iter().filter_map(found).collect(),
            };
            if holders.len() > 1
                && let Some(index) =
                    successor(&holders).or_else(|| preferred_session(&holders, policy))
            {
                holders = vec![holders.swap_remove(index)];
            }
            match (holders.len(), holders.pop()) {
                (1, Some((id, _, found))) => Ok((id.clone(), found)),
                (_, None) => Err(not_found(&sessions.values().collect::<Vec<_>>())),
                (_, Some(last)) => {
                    holders.push(last);
                    Err(RoutingError::Ambiguous {
                        name: name.to_owned(),
                        available: summaries(
                            holders.iter().map(|(id, session, _)| (*id, *session)),
                        ),
                    })
                }
            }
        }
    }
}

/// The session with this id, or otherwise with this name. Ids are random, so a name cannot equal an
/// id by accident.
pub(super) fn find_session<'a>(
    sessions: &'a SessionMap,
    id: &SessionId,
) -> Option<(&'a SessionId, &'a Session)> {
    sessions.get_key_value(id).or_else(|| {
        let mut sessions = sessions.iter();
        sessions.find(|(_, session)| session.is_named(id.as_str()))
    })
}

/// The session that a request means which names none: the only one, or the successor of all others.
pub(super) fn only_session(sessions: &SessionMap) -> Option<&SessionId> {
    let all: Vec<_> = sessions.iter().map(|(id, it)| (id, it, ())).collect();
    match all.as_slice() {
        [(only, ..)] => Some(*only),
        all => successor(all).map(|index| all[index].0),
    }
}

/// The index of the only connected session, if it began after all others had lost their connection: a
/// page that died and was opened again is one page, although its former session waits for
/// `page_grace`. A tab that was open beside another one may come back, and one between two documents
/// will, so that a call must name one of them.
fn successor<T>(holders: &[(&SessionId, &Session, T)]) -> Option<usize> {
    let is_connected =
        |(_, session, _): &(&SessionId, &Session, T)| session.phase.connection().is_some();
    let index = holders.iter().position(is_connected)?;
    let (_, connected, _) = &holders[index];
    let mut others = holders.iter().enumerate().filter(|(it, _)| *it != index);
    let was_lost = others.all(|(_, (_, other, _))| other.was_lost_before(connected));
    was_lost.then_some(index)
}

/// The index of the session that the policy of the operator prefers.
fn preferred_session<T>(
    holders: &[(&SessionId, &Session, T)],
    policy: AmbiguousCalls,
) -> Option<usize> {
    let candidates = || holders.iter().enumerate();
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

/// The published definitions of one kind. See [`Realm::published`](super::Realm::published) for the
/// order.
pub(super) fn published<'a>(
    kind: Kind,
    sessions: impl Iterator<Item = &'a Session>,
    remembered: impl Iterator<Item = &'a SharedDefinition>,
) -> Vec<SharedDefinition> {
    let mut by_name: IndexMap<&str, (u64, &SharedDefinition)> = IndexMap::new();
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
