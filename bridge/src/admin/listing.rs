//! Lists for the operator. Realms are locked one after another, and only while their rows are made, so
//! that calls do not wait.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use bridge_auth::{Denial, RealmId};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::administration::Administration;
use super::messages::{AdminAnswer, ListRequest, Listed, Row, UserSelector};
use super::user_selector::realm_name;

/// The maximum number of rows of an answer.
pub(super) const MAX_ROWS: usize = 1_000;

/// The maximum length of a text in a row, which pages and clients choose.
const MAX_TEXT_CHARS: usize = 256;

/// How many realms are read before other tasks of the thread run.
const REALMS_PER_TURN: usize = 64;

/// The last second that a date can have: the end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// A user for an operator.
#[derive(Default, Serialize)]
struct UserOverview {
    subject: Option<String>,
    address: String,
    pages: usize,
    pages_away: usize,
    clients: usize,
    mcp_sessions: usize,
    calls: usize,
    queries: usize,
}

/// A place in a list: after this row of this realm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cursor {
    realm: RealmId,
    id: String,
}

impl Cursor {
    fn parse(text: &str) -> Result<Self, String> {
        let (realm, id) = text.split_once('/').unwrap_or((text, ""));
        let realm = RealmId::from_hex(realm);
        let realm = realm.ok_or("`after` is not the end of a list before: take it from `next`")?;
        let id = id.to_owned();
        Ok(Self { realm, id })
    }

    fn to_text(&self) -> String {
        format!("{}/{}", self.realm.to_hex(), self.id)
    }
}

impl Administration {
    /// Returns a part of a list, ordered by realms and ids.
    pub(super) async fn list(&self, request: &ListRequest) -> Result<AdminAnswer, String> {
        let limit = request.limit.clamp(1, MAX_ROWS);
        let after = request.after.as_deref().map(Cursor::parse).transpose()?;
        let denials: HashMap<_, _> = match request.what {
            Listed::Denied => self.denials.list().denials().into_iter().collect(),
            _ => HashMap::new(),
        };
        let mut realms = self.select(&request.user)?;
        if request.what == Listed::Denied && request.user == UserSelector::default() {
            realms = denials.keys().copied().collect();
            realms.sort_unstable();
        }
        let start = after.as_ref().map_or(0, |after| {
            realms.partition_point(|realm| *realm < after.realm)
        });
        let mut rows = Vec::new();
        let mut last: Option<Cursor> = None;
        for (index, realm) in realms[start..].iter().enumerate() {
            if index % REALMS_PER_TURN == REALMS_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
            for (id, row) in self.rows(request.what, *realm, denials.get(realm)) {
                let cursor = Cursor { realm: *realm, id };
                if after.as_ref().is_some_and(|after| cursor <= *after) {
                    continue;
                }
                if rows.len() == limit {
                    return Ok(AdminAnswer {
                        rows: Some(rows),
                        next: last.as_ref().map(Cursor::to_text),
                        message: None,
                    });
                }
                rows.push(row);
                last = Some(cursor);
            }
        }
        Ok(AdminAnswer {
            rows: Some(rows),
            ..AdminAnswer::default()
        })
    }

    /// Returns the rows of a realm with their ids, in the order of these.
    fn rows(&self, what: Listed, realm: RealmId, denial: Option<&Denial>) -> Vec<(String, Row)> {
        let mut rows: Vec<(String, Row)> = match what {
            Listed::Users => {
                let row = |user| (String::new(), new_row(realm, &user));
                self.user_overview(realm).map(row).into_iter().collect()
            }
            Listed::Pages => self
                .hub
                .with_realm(realm, |it| it.page_overviews().collect::<Vec<_>>())
                .unwrap_or_default()
                .into_iter()
                .map(|page| (page.session.0.clone(), new_row(realm, &page)))
                .collect(),
            Listed::Clients => {
                let clients = self.mcp.client_overviews(realm).into_iter();
                let rows = clients.map(|client| {
                    let row = new_row(realm, &client);
                    (client.id, row)
                });
                rows.collect()
            }
            Listed::Calls => {
                let now = Instant::now().into_std();
                self.hub
                    .with_realm(realm, |it| it.call_overviews(now).collect::<Vec<_>>())
                    .unwrap_or_default()
                    .into_iter()
                    .map(|call| (call.call.0.clone(), new_row(realm, &call)))
                    .collect()
            }
            Listed::Denied => {
                let row = |denial| (String::new(), denial_row(realm, denial));
                denial.map(row).into_iter().collect()
            }
        };
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        rows
    }

    /// Returns `None` if the user has neither pages nor clients.
    fn user_overview(&self, realm: RealmId) -> Option<UserOverview> {
        let mcp_sessions = self.mcp.client_overviews(realm);
        let overview = self.hub.with_realm(realm, |it| {
            let pages = it.connected_session_count();
            UserOverview {
                subject: it.subject().map(str::to_owned),
                address: String::new(),
                pages,
                pages_away: it.session_count() - pages,
                clients: it.client_count(),
                mcp_sessions: mcp_sessions.len(),
                calls: it.call_count(),
                queries: it.query_count(),
            }
        });
        match overview {
            Some(overview) => Some(UserOverview {
                address: self.hub.party(realm).address.to_string(),
                ..overview
            }),
            None => mcp_sessions.first().map(|session| UserOverview {
                address: session.address.clone(),
                mcp_sessions: mcp_sessions.len(),
                ..UserOverview::default()
            }),
        }
    }
}

/// Returns the time in RFC 3339.
pub(super) fn date(unix_seconds: u64) -> String {
    let seconds = Duration::from_secs(unix_seconds.min(LAST_SECOND));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + seconds).to_string()
}

/// Returns the row of a denial, with the whole hash: the realm need not be in use.
fn denial_row(realm: RealmId, denial: &Denial) -> Row {
    let mut row = Row::new();
    row.insert("realm".to_owned(), realm.to_hex().into());
    row.insert("subject".to_owned(), denial.subject.clone().into());
    row.insert("until".to_owned(), date(denial.until).into());
    row.insert("reason".to_owned(), denial.reason.clone().into());
    row
}

fn new_row(realm: RealmId, overview: &impl Serialize) -> Row {
    let mut row = Row::new();
    row.insert("realm".to_owned(), realm_name(realm).into());
    // It has only texts and numbers.
    if let Ok(Value::Object(fields)) = serde_json::to_value(overview) {
        row.extend(fields.into_iter().map(|(key, value)| (key, shorten(value))));
    }
    row
}

fn shorten(value: Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(MAX_TEXT_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => text.into(),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_list_survives_as_text() {
        let realm = RealmId::from_token("token");
        for id in ["", "a", "a/b", "é"] {
            let cursor = Cursor {
                realm,
                id: id.to_owned(),
            };
            assert_eq!(Cursor::parse(&cursor.to_text()), Ok(cursor));
        }
        assert!(Cursor::parse("a/b").unwrap_err().contains("`next`"));
    }

    #[test]
    fn long_texts_and_late_dates_are_shortened() {
        let long = shorten("é".repeat(MAX_TEXT_CHARS + 1).into());
        assert_eq!(long.as_str().unwrap().chars().count(), MAX_TEXT_CHARS + 1);
        assert_eq!(date(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
