//! The sources and tools that one query may use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge_protocol::{ErrorCode, QueryCaller, QueryId};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::failure::AgentFailure;
use crate::managed_source::ManagedSource;
use crate::offered_tool::OfferedTool;
use crate::output::CallOutput;
use crate::profile::ToolProfile;
use crate::source::MAX_SOURCE_PROMPT_BYTES;
use crate::sources::Sources;
use crate::text;

/// How long a query waits for its sources to start. A source that takes longer is offered from the
/// turn of the model on in which it has started.
const START_WAIT: Duration = Duration::from_secs(2);

/// The maximum size of the definitions of tools that a query has, in bytes. The others are left out:
/// otherwise the definitions of one server could use up the tokens of each query.
pub(super) const MAX_DEFINITION_BYTES: usize = 128 * 1024;

/// The sources and tools that one query may use.
#[derive(Debug)]
pub struct SourceAccess {
    pub(super) sources: Arc<Sources>,
    pub(super) profile: Option<Arc<ToolProfile>>,
    pub(super) caller: Option<QueryCaller>,
    pub(super) query: QueryId,
    /// Whether the query has waited for its sources to start.
    has_waited: AtomicBool,
}

impl Sources {
    /// Returns the access of a query of the bridge with this name. `requested` is the profile that it
    /// names; otherwise it has the first that admits its caller.
    pub fn access(
        self: &Arc<Self>,
        bridge: &str,
        caller: Option<&QueryCaller>,
        requested: Option<&str>,
        query: &QueryId,
    ) -> Result<SourceAccess, AgentFailure> {
        let mut admitting = self.profiles.iter().filter(|profile| {
            let is_requested = requested.is_none_or(|name| name == profile.name);
            is_requested && caller.is_some_and(|caller| profile.admits(bridge, caller))
        });
        let profile = admitting.next().cloned();
        if profile.is_none() && !self.profiles.is_empty() {
            let is_self_made = caller.is_none_or(|caller| caller.self_made);
            tracing::info!(%query, is_self_made, "no profile admits the user of this query");
        }
        if let (Some(name), None) = (requested, &profile) {
            return Err(profile_refused(name));
        }
        Ok(SourceAccess {
            sources: Arc::clone(self),
            profile,
            caller: caller.cloned(),
            query: query.clone(),
            has_waited: AtomicBool::new(false),
        })
    }
}

impl SourceAccess {
    /// Returns the profile that admits the caller, if there is one.
    pub fn profile(&self) -> Option<&ToolProfile> {
        self.profile.as_deref()
    }

    /// Returns the tools that the profile allows, of the sources that have started.
    pub async fn tools(&self) -> Vec<Arc<OfferedTool>> {
        let Some(profile) = &self.profile else {
            return Vec::new();
        };
        self.start_sources(profile).await;
        let offered = self.sources.offered();
        let is_allowed = |it: &&Arc<OfferedTool>| it.source.is_started() && profile.allows(it);
        let mut bytes = 0;
        let fits = |it: &&Arc<OfferedTool>| {
            bytes += it.definition_bytes();
            bytes <= MAX_DEFINITION_BYTES
        };
        offered
            .iter()
            .filter(is_allowed)
            .take_while(fits)
            .cloned()
            .collect()
    }

    /// Starts the sources that the profile could use.
    async fn start_sources(&self, profile: &ToolProfile) {
        let is_needed =
            |source: &&Arc<ManagedSource>| !source.is_started() && profile.can_allow(source.name());
        let sources = self.sources.all().iter();
        let starting = sources.filter(is_needed).map(|it| it.started());
        let is_first = !self.has_waited.swap(true, Ordering::Relaxed);
        let wait = if is_first { START_WAIT } else { Duration::ZERO };
        // A failed start is logged where it fails.
        let _ = timeout(wait, join_all(starting)).await;
    }

    /// Returns the tools of all sources, also those that the profile does not allow.
    pub fn known_tools(&self) -> Arc<[Arc<OfferedTool>]> {
        self.sources.offered()
    }

    /// Returns the user, as the bridge identifies it; empty if the bridge has not identified it.
    pub fn user(&self) -> &str {
        self.caller.as_ref().map_or("", |caller| &caller.user)
    }

    /// Runs a tool of a source whose call has passed the steps before. Dropping the future cancels the
    /// call.
    pub async fn run(&self, offered: &OfferedTool, arguments: Map<String, Value>) -> CallOutput {
        let OfferedTool { source, tool, .. } = offered;
        source.call(&tool.name, arguments, self.user()).await
    }

    /// Returns the text about each source of these tools for the system prompt, in the order of the
    /// configuration.
    pub fn prompts(&self, tools: &[Arc<OfferedTool>]) -> Vec<String> {
        let mut prompts = Vec::new();
        for source in self.sources.all() {
            if !tools.iter().any(|tool| Arc::ptr_eq(&tool.source, source)) {
                continue;
            }
            let prompt = source.source.prompt().unwrap_or_default();
            let end = prompt.floor_char_boundary(MAX_SOURCE_PROMPT_BYTES);
            let prompt = prompt[..end].trim();
            let name = source.name();
            prompts.push(match prompt {
                "" => format!("`{name}`"),
                text => format!("`{name}`: {text}"),
            });
        }
        prompts
    }
}

/// Creates the failure of a query with a profile that it cannot have. It does not
/// reveal whether the profile exists.
fn profile_refused(name: &str) -> AgentFailure {
    let name = text::shorten_name(name);
    let message = format!("there is no profile `{name}` for you");
    AgentFailure::new(ErrorCode::InsufficientScope, message)
        .with_remedy("ask without `profile`, or with one that the operator of the agent gives you")
}
