//! Which steps of the [`pipeline`](super::pipeline) apply to the calls of a tool, and what they need. A
//! step that does not apply has `None` here, with the reason: this file is the table of the kinds of
//! tools.

use std::sync::Arc;
use std::time::Duration;

use agent_secrets::SecretStore;
use bridge_schema::Validator;
use serde_json::Value;
use tokio::time::Instant;

use crate::access::SourceAccess;
use crate::call_record::{CLIENT_SOURCE, PAGE_SOURCE, RecordedCall};
use crate::class::ToolClass;
use crate::managed_source::ManagedSource;
use crate::offered_tool::OfferedTool;
use crate::profile::ToolProfile;
use crate::source::SourceTool;
use crate::user_shares::UserShares;

/// Which steps apply to the calls of a tool, and what they need.
#[derive(Debug)]
pub struct CallProfile<'a> {
    /// Whether the caller may use the tool.
    pub(super) is_allowed: bool,
    /// Checks the arguments. `None` if the page or the client checks them.
    pub(super) validator: Option<&'a Arc<Validator>>,
    /// How long a person is asked, if one must approve the calls.
    pub(super) approval_timeout: Option<Duration>,
    /// The profile of the operator whose rates count the calls.
    pub(super) rates: Option<&'a ToolProfile>,
    /// The limits of calls that run at the same time.
    pub(super) shares: Option<&'a UserShares>,
    /// Whether a call waits for others in its own time.
    pub(super) is_wait_timed: bool,
    /// The time of a call, if it is not that of the query.
    pub(super) time: Option<Duration>,
    /// The data of a call for the audit file and the metrics.
    pub(super) recorded: Option<RecordedCall<'a>>,
    /// The secrets to remove from results.
    pub(super) secrets: Option<&'a SecretStore>,
    /// The user on whose behalf the tool is called.
    pub(super) user: &'a str,
    /// The name of the source, for messages.
    pub(super) source: &'a str,
    /// The class of the tool.
    pub(super) class: ToolClass,
}

/// The limits of a query for the calls of one tool.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// The time of a call.
    pub time: Duration,
    /// Whether the operator or the page lets a person approve the calls.
    pub must_be_approved: bool,
    /// How long the person is asked.
    pub approval_timeout: Duration,
}

impl SourceAccess {
    /// Returns the profile of a tool of a source, to which all steps apply. `limits` is `None` for a tool
    /// that the query does not have: its calls are refused, and recorded.
    pub fn source_profile<'a>(
        &'a self,
        offered: &'a OfferedTool,
        limits: Option<CallLimits>,
    ) -> CallProfile<'a> {
        let (profile, tool) = (self.profile(), &offered.tool);
        let is_granted = profile.is_some_and(|profile| profile.allows(offered));
        let is_asked = profile.is_some_and(|profile| tool.class.must_be_approved(&profile.ask));
        let asking = limits.filter(|limits| limits.must_be_approved || is_asked);
        CallProfile {
            is_allowed: is_granted && limits.is_some(),
            validator: Some(&tool.arguments),
            approval_timeout: asking.map(|limits| limits.approval_timeout),
            rates: profile,
            shares: Some(&offered.source.shares),
            is_wait_timed: true,
            time: limits.map(|limits| limits.time),
            recorded: Some(RecordedCall {
                access: self,
                source: offered.source_name(),
                tool: &tool.name,
                schema: tool.arguments.schema(),
                needs_line: true,
            }),
            secrets: self.sources.records.secrets.as_deref(),
            user: self.user(),
            source: offered.source_name(),
            class: tool.class,
        }
    }

    /// Returns the profile of a tool of the page. `shares` are those of the calls of one turn.
    pub fn page_profile<'a>(
        &'a self,
        tool: &'a str,
        schema: &'a Value,
        class: ToolClass,
        shares: &'a UserShares,
        limits: CallLimits,
    ) -> CallProfile<'a> {
        CallProfile {
            // The token of the query has the tools that it may use.
            is_allowed: true,
            // The bridge checks them for every client of a page, with the page's current schema.
            validator: None,
            approval_timeout: (limits.must_be_approved).then_some(limits.approval_timeout),
            // Rates are for what the operator pays for. The app is that of the user.
            rates: None,
            shares: Some(shares),
            // It waits only for calls of the same turn, each with its own time.
            is_wait_timed: false,
            time: Some(limits.time),
            recorded: Some(RecordedCall {
                access: self,
                source: PAGE_SOURCE,
                tool,
                schema,
                needs_line: false,
            }),
            // No page gets a stored secret.
            secrets: None,
            user: self.user(),
            source: PAGE_SOURCE,
            class,
        }
    }

    /// Returns the profile of a tool that the client of the query runs, or that changes the state of the
    /// client.
    pub fn client_profile<'a>(
        &'a self,
        tool: &'a str,
        schema: &'a Value,
        class: ToolClass,
    ) -> CallProfile<'a> {
        CallProfile {
            // The client itself offers the tool.
            is_allowed: true,
            // The client checks them: it knows more about its tool than the schema.
            validator: None,
            // The client asks its user itself.
            approval_timeout: None,
            // The client pays for the calls, and decides how many it makes at the same time.
            rates: None,
            shares: None,
            is_wait_timed: false,
            // A client that waits for its user has the time of the query.
            time: None,
            recorded: Some(RecordedCall {
                access: self,
                source: CLIENT_SOURCE,
                tool,
                schema,
                needs_line: false,
            }),
            // No client gets a stored secret.
            secrets: None,
            user: self.user(),
            source: CLIENT_SOURCE,
            class,
        }
    }
}

impl<'a> CallProfile<'a> {
    /// Returns the profile of a tool that a program without an agent calls: the program decides whom to
    /// ask, how often to call, and what to record.
    pub(super) fn served(
        source: &'a ManagedSource,
        tool: &'a SourceTool,
        user: &'a str,
        default_timeout: Duration,
        secrets: Option<&'a SecretStore>,
    ) -> Self {
        Self {
            is_allowed: true,
            validator: Some(&tool.arguments),
            approval_timeout: None,
            rates: None,
            shares: Some(&source.shares),
            is_wait_timed: true,
            time: Some(tool.timeout.unwrap_or(default_timeout)),
            recorded: None,
            secrets,
            user,
            source: source.name(),
            class: tool.class,
        }
    }

    /// Returns the deadline of a call that begins now. `None` if only the time of the query limits it,
    /// or if its time is longer than any clock.
    pub fn deadline(&self) -> Option<Instant> {
        self.time.and_then(|time| Instant::now().checked_add(time))
    }
}
