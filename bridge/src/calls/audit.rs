//! The audit log: one line for each call that has ended.
//!
//! The lines have the target `audit`, so that a filter can select them. They never contain tokens.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_protocol::invisible::{escape_in_json, visible_text};
use bridge_protocol::{CallContext, CallerTransport, SessionId};
use tracing::field::{DisplayValue, display};

use crate::config::Audit;
use crate::counters::{CallKind, CountedEnd};

/// The maximum length of each name in a line. Clients choose them.
const MAX_NAME_CHARS: usize = 256;

/// The maximum size of the arguments in a line.
const MAX_ARGUMENT_BYTES: usize = 4096;

/// The part of a call's audit entry that is known before the call ends.
#[derive(Debug)]
pub(crate) struct AuditEntry {
    realm: RealmId,
    subject: Option<String>,
    client: Option<String>,
    transport: &'static str,
    address: ClientAddress,
    /// The name or URI that the client has sent.
    requested: String,
    arguments: Option<String>,
    /// The page that was called, and what in it.
    called: OnceLock<(SessionId, String)>,
}

impl AuditEntry {
    /// Creates the entry of a call, unless the log is off. `arguments` is the JSON text of its
    /// arguments.
    pub(super) fn begin(
        audit: Audit,
        realm: RealmId,
        address: ClientAddress,
        context: &CallContext,
        requested: &str,
        arguments: impl FnOnce() -> Option<String>,
    ) -> Option<Arc<Self>> {
        if audit == Audit::Off {
            return None;
        }
        let caller = context.caller.as_ref();
        let arguments = match audit {
            Audit::CallsWithArguments => arguments(),
            Audit::Off | Audit::Calls => None,
        };
        let client = context.client.as_ref();
        Some(Arc::new(Self {
            realm,
            subject: caller.and_then(|caller| Some(shorten_name(caller.sub.as_ref()?))),
            client: client.map(|client| shorten_name(&client.info.name)),
            transport: match caller.map(|caller| caller.via) {
                None | Some(CallerTransport::Mcp) => "mcp",
                Some(CallerTransport::Http) => "http",
            },
            address,
            requested: shorten_name(requested),
            arguments: arguments.map(|json| shorten_arguments(escape_in_json(&json).into_owned())),
            called: OnceLock::new(),
        }))
    }

    /// Records the page that is called, and what in it.
    pub(super) fn set_called(&self, session: &SessionId, name: &str) {
        // A call is sent to one page, also if it is sent again.
        let _ = self.called.set((session.clone(), shorten_name(name)));
    }

    /// Writes the line.
    pub(super) fn log(&self, kind: CallKind, end: CountedEnd, duration: Duration) {
        let (session, called) = match self.called.get() {
            Some((session, called)) => (Some(session.0.as_str()), called),
            None => (None, &self.requested),
        };
        let code = match end {
            CountedEnd::Failed(code) => code.map(|code| code.as_str()),
            _ => None,
        };
        tracing::info!(
            target: "audit",
            realm = ?self.realm,
            subject = self.subject.as_deref().map(quoted),
            client = self.client.as_deref().map(quoted),
            transport = self.transport,
            address = %self.address,
            session = session.map(quoted),
            kind = kind.as_str(),
            name = quoted(called),
            outcome = end.as_str(),
            code,
            ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            arguments = self.arguments.as_deref().map(quoted),
            "call"
        );
    }
}

/// Returns a text in quotes. Invisible characters that `Debug` prints, such as U+3164, are also escaped.
fn quoted(text: &str) -> DisplayValue<String> {
    display(visible_text(&format!("{text:?}")).into_owned())
}

fn shorten_name(name: impl AsRef<str>) -> String {
    name.as_ref().chars().take(MAX_NAME_CHARS).collect()
}

fn shorten_arguments(mut arguments: String) -> String {
    if arguments.len() > MAX_ARGUMENT_BYTES {
        arguments.truncate(arguments.floor_char_boundary(MAX_ARGUMENT_BYTES));
        arguments.push('…');
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_and_arguments_are_truncated() {
        assert_eq!(
            shorten_name("é".repeat(1000)).chars().count(),
            MAX_NAME_CHARS
        );
        let long = shorten_arguments(format!("x{}", "é".repeat(MAX_ARGUMENT_BYTES)));
        assert_eq!(long.len(), MAX_ARGUMENT_BYTES - 1 + "…".len());
        assert!(long.ends_with("é…"));
        assert_eq!(shorten_arguments("{}".to_owned()), "{}");
    }
}
