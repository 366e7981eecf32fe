//! The audit log: one line for each call that has ended.
//!
//! The lines have the target `audit`, so that a filter can select them. They never contain tokens.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_protocol::invisible::escape_in_json;
use bridge_protocol::{CallContext, CallerTransport, SessionId};

use crate::config::Audit;
use crate::counters::{CallKind, CountedEnd};
use crate::web::HttpRequestId;

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
    /// The HTTP request of the call.
    request: Option<HttpRequestId>,
    /// The name or URI that the client has sent.
    requested: String,
    arguments: Option<String>,
    /// The page that was called, and what in it.
    called: OnceLock<Called>,
}

/// The page that was called, and what in it.
#[derive(Debug)]
struct Called {
    session: SessionId,
    address: Option<ClientAddress>,
    name: String,
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
            request: HttpRequestId::current(),
            requested: shorten_name(requested),
            arguments: arguments.map(|json| shorten_arguments(escape_in_json(&json).into_owned())),
            called: OnceLock::new(),
        }))
    }

    /// Records the page that is called, with its address, and what in it.
    pub(super) fn set_called(&self, session: &SessionId, address: Option<IpAddr>, name: &str) {
        // A call is sent to one page, also if it is sent again.
        let _ = self.called.set(Called {
            session: session.clone(),
            address: address.map(ClientAddress::from),
            name: shorten_name(name),
        });
    }

    /// Writes the line, as one about the request of the call.
    pub(super) fn log(&self, kind: CallKind, end: CountedEnd, duration: Duration) {
        match &self.request {
            Some(request) => request.clone().run(|| self.write_line(kind, end, duration)),
            None => self.write_line(kind, end, duration),
        }
    }

    fn write_line(&self, kind: CallKind, end: CountedEnd, duration: Duration) {
        let called = self.called.get();
        let name = called.map_or(&self.requested, |called| &called.name);
        let code = match end {
            CountedEnd::Failed(code) => code.map(|code| code.as_str()),
            _ => None,
        };
        tracing::info!(
            target: "audit",
            realm = ?self.realm,
            subject = self.subject.as_deref(),
            client = self.client.as_deref(),
            transport = self.transport,
            address = %self.address,
            session = called.map(|called| called.session.0.as_str()),
            page_address = called.and_then(|called| called.address).map(tracing::field::display),
            kind = kind.as_str(),
            name = name.as_str(),
            outcome = end.as_str(),
            code,
            ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            arguments = self.arguments.as_deref(),
            "call"
        );
    }
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
