//! The caller of a query, in the form that the bridge sends to the agent.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::SessionId;

/// The header in which a bridge sends a [`QueryCaller`] to the agent.
pub const QUERY_CALLER_HEADER: &str = "mcp-web-caller";

/// The largest value of [`QUERY_CALLER_HEADER`], in bytes.
pub const MAX_QUERY_CALLER_BYTES: usize = 4096;

/// The largest subject, in bytes of JSON. A longer one is left out, because a part of it could be
/// the subject of somebody else.
const MAX_SUBJECT_BYTES: usize = 512;

/// The largest size of all roles, in bytes of JSON. Further roles are left out.
const MAX_ROLES_BYTES: usize = 512;

/// The largest name of an app, in bytes of JSON.
const MAX_APP_BYTES: usize = 512;

/// The largest description of an app, in bytes of JSON.
const MAX_DESCRIPTION_BYTES: usize = 768;

/// The largest origin, in bytes of JSON. A longer one is left out.
const MAX_ORIGIN_BYTES: usize = 320;

/// The largest id of a session, in bytes of JSON. Only pages of mcp-web 0.1 can have a longer one.
const MAX_SESSION_BYTES: usize = 192;

/// The person or service that a token identifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The subject's id (`sub`, RFC 7519 section 4.1.2).
    pub sub: Option<String>,
    /// The subject's roles.
    pub roles: Vec<String>,
}

/// The caller of a query: a user of the bridge, in an app, in a tab.
///
/// # Examples
///
/// ```
/// use bridge_protocol::{QueryCaller, SessionId};
///
/// let caller = QueryCaller {
///     user: "kq3…".to_owned(),
///     sub: None,
///     roles: Vec::new(),
///     self_made: true,
///     app: "todo".to_owned(),
///     app_description: None,
///     origin: Some("https://todo.example".to_owned()),
///     session: SessionId::from("tab-1"),
/// };
/// assert_eq!(QueryCaller::from_header(&caller.to_header()), Some(caller));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryCaller {
    /// Identifies the user. It is the same for all queries of the user, also after a restart of the
    /// bridge. It is not a token.
    pub user: String,
    /// The subject of a signed token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// The roles of a signed token.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Whether the page has generated its token itself, so that no issuer vouches for the user.
    pub self_made: bool,
    /// The name of the app, as its page gives it; empty if the page gives none.
    pub app: String,
    /// The description of the app, as its page gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_description: Option<String>,
    /// The origin of the page; absent outside a browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The session of the page.
    pub session: SessionId,
}

impl QueryCaller {
    /// Shortens what may have any length, so that the header has at most
    /// [`MAX_QUERY_CALLER_BYTES`].
    #[must_use]
    pub fn bounded(self) -> Self {
        let fits = |text: &String, max_bytes| json_bytes(text) <= max_bytes;
        let mut roles_bytes = 0;
        let fits_roles = |role: &String| {
            // Quotes and a comma.
            let bytes = json_bytes(role) + 3;
            let is_room = roles_bytes + bytes <= MAX_ROLES_BYTES;
            roles_bytes += if is_room { bytes } else { 0 };
            is_room
        };
        Self {
            user: self.user,
            sub: self.sub.filter(|sub| fits(sub, MAX_SUBJECT_BYTES)),
            roles: self.roles.into_iter().filter(fits_roles).collect(),
            self_made: self.self_made,
            app: truncate(self.app, MAX_APP_BYTES),
            app_description: self
                .app_description
                .map(|text| truncate(text, MAX_DESCRIPTION_BYTES)),
            origin: self.origin.filter(|origin| fits(origin, MAX_ORIGIN_BYTES)),
            session: SessionId(truncate(self.session.0, MAX_SESSION_BYTES)),
        }
    }

    /// Encodes the value of the header: JSON in base64url without padding (RFC 4648 section 5).
    pub fn to_header(&self) -> String {
        // The value consists of strings and a boolean: encoding it cannot fail.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Decodes the value of the header; `None` if it is not one.
    pub fn from_header(value: &str) -> Option<Self> {
        let json = URL_SAFE_NO_PAD.decode(value).ok()?;
        serde_json::from_slice(&json).ok()
    }
}

/// The size of a character in a JSON string, in bytes.
fn json_char_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

fn json_bytes(text: &str) -> usize {
    text.chars().map(json_char_bytes).sum()
}

/// Truncates a text to this many bytes of JSON, with an ellipsis at the end.
fn truncate(mut text: String, max_bytes: usize) -> String {
    const ELLIPSIS: char = '…';
    if json_bytes(&text) <= max_bytes {
        return text;
    }
    let mut room = max_bytes - ELLIPSIS.len_utf8();
    let end = text.char_indices().find(|(_, character)| {
        let bytes = json_char_bytes(*character);
        let is_over = bytes > room;
        room = room.saturating_sub(bytes);
        is_over
    });
    text.truncate(end.map_or(text.len(), |(end, _)| end));
    text.push(ELLIPSIS);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> QueryCaller {
        QueryCaller {
            user: "u".repeat(43),
            sub: Some("ada".to_owned()),
            roles: vec!["editor".to_owned()],
            self_made: false,
            app: "todo".to_owned(),
            app_description: Some("Lists of things".to_owned()),
            origin: Some("https://todo.example".to_owned()),
            session: SessionId::from("tab-1"),
        }
    }

    #[test]
    fn a_caller_is_json_in_camel_case_without_absent_fields() {
        let user = "u".repeat(43);
        let whole = format!(
            r#"{{"user":"{user}","sub":"ada","roles":["editor"],"selfMade":false,"app":"todo","appDescription":"Lists of things","origin":"https://todo.example","session":"tab-1"}}"#
        );
        assert_eq!(serde_json::to_string(&caller()).unwrap(), whole);
        let least = QueryCaller {
            sub: None,
            roles: Vec::new(),
            self_made: true,
            app_description: None,
            origin: None,
            ..caller()
        };
        let text = format!(
            r#"{{"user":"{user}","roles":[],"selfMade":true,"app":"todo","session":"tab-1"}}"#
        );
        assert_eq!(serde_json::to_string(&least).unwrap(), text);
        for (caller, text) in [(caller(), whole), (least, text)] {
            assert_eq!(serde_json::from_str::<QueryCaller>(&text).unwrap(), caller);
            assert_eq!(caller.clone().bounded(), caller);
            assert_eq!(QueryCaller::from_header(&caller.to_header()), Some(caller));
        }
    }

    #[test]
    fn a_header_has_only_characters_of_base64url() {
        let named = QueryCaller {
            app: "Ünïcode ✓\r\n>>>???".to_owned(),
            ..caller()
        };
        let header = named.to_header();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        assert!(header.bytes().all(is_allowed), "{header}");
        assert_eq!(QueryCaller::from_header(&header), Some(named));
        for wrong in ["", "e30", "e30=", "{}", "é"] {
            assert_eq!(QueryCaller::from_header(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_header_of_any_caller_is_bounded() {
        for endless in ["x", "é", "✓", "🙂", "\"", "\u{1}"].map(|text| text.repeat(100_000)) {
            let bounded = QueryCaller {
                sub: Some(endless.clone()),
                roles: vec![endless.clone(), "r".repeat(505), "editor".to_owned()],
                app: endless.clone(),
                app_description: Some(endless.clone()),
                origin: Some(endless.clone()),
                session: SessionId(endless.clone()),
                ..caller()
            }
            .bounded();
            assert!(bounded.to_header().len() <= MAX_QUERY_CALLER_BYTES);
            assert_eq!((&bounded.sub, &bounded.origin), (&None, &None));
            assert_eq!(bounded.roles, ["r".repeat(505)]);
            assert!(bounded.app.ends_with('…') && bounded.app.len() > 80);
            assert_eq!(bounded.clone().bounded(), bounded);
        }
    }

    #[test]
    fn the_largest_caller_fits() {
        let largest = QueryCaller {
            user: "u".repeat(43),
            sub: Some("s".repeat(MAX_SUBJECT_BYTES)),
            roles: vec!["r".to_owned(); MAX_ROLES_BYTES / 4],
            self_made: false,
            app: "a".repeat(MAX_APP_BYTES),
            app_description: Some("d".repeat(MAX_DESCRIPTION_BYTES)),
            origin: Some("o".repeat(MAX_ORIGIN_BYTES)),
            session: SessionId("i".repeat(MAX_SESSION_BYTES)),
        };
        assert_eq!(largest.clone().bounded(), largest);
        let bytes = largest.to_header().len();
        assert!(bytes <= MAX_QUERY_CALLER_BYTES, "{bytes}");
    }
}
