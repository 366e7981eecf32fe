//! The tools of a server: those that are offered, and those that a connection may call.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::listing::{Listed, UnusableTool};
use crate::name_patterns::NamePatterns;
use crate::text;
use crate::{PinDifference, ServerTool, SourceTool};

/// The number of names that a warning about changed tools has. The others are counted.
const MAX_LOGGED_NAMES: usize = 5;

/// The tools of a server.
#[derive(Debug)]
pub(super) struct ToolTable {
    server: String,
    allow: Option<NamePatterns>,
    call_timeout: Option<Duration>,
    /// Whether connections may list different tools, because each is that of a user.
    is_per_user: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The definitions to which the tools must be equal: the pinned ones, or those of the first list.
    expected: Option<Vec<ServerTool>>,
    offered: Arc<[SourceTool]>,
    /// The names of the tools whose calls may be made twice.
    repeatable: HashSet<String>,
    /// The difference that was logged last.
    logged: Option<PinDifference>,
    /// The tools that are not as MCP demands and were logged last.
    logged_unusable: Vec<UnusableTool>,
}

impl ToolTable {
    pub(super) fn new(
        server: &str,
        pinned: Option<Vec<ServerTool>>,
        allow: Option<NamePatterns>,
        call_timeout: Option<Duration>,
        is_per_user: bool,
    ) -> Self {
        let table = Self {
            server: server.to_owned(),
            allow,
            call_timeout,
            is_per_user,
            state: Mutex::new(State {
                expected: pinned.clone(),
                offered: Arc::default(),
                repeatable: HashSet::new(),
                logged: None,
                logged_unusable: Vec::new(),
            }),
        };
        // Pinned tools can be offered before the server runs.
        if let Some(pinned) = pinned {
            table.offer(&pinned);
        }
        table
    }

    /// Returns whether it is known which tools the server must have.
    pub(super) fn is_known(&self) -> bool {
        self.state().expected.is_some()
    }

    pub(super) fn offered(&self) -> Arc<[SourceTool]> {
        Arc::clone(&self.state().offered)
    }

    /// Returns whether a call of a tool may be made twice.
    pub(super) fn is_repeatable(&self, tool: &str) -> bool {
        self.state().repeatable.contains(tool)
    }

    /// Updates the table with the current list of a connection. Returns the names of the tools that
    /// it may call: those with the expected definition.
    pub(super) fn update(&self, listed: &Listed) -> HashSet<String> {
        self.log_unusable(&listed.unusable);
        let listed = listed.tools.as_slice();
        let expected = {
            let mut state = self.state();
            // A server may add its tools after it has started.
            if state.expected.is_none() && !listed.is_empty() {
                state.expected = Some(listed.to_vec());
            }
            state.expected.clone().unwrap_or_default()
        };
        self.log_difference(PinDifference::new(&expected, listed));
        let is_expected = |tool: &&ServerTool| expected.contains(tool);
        let usable: Vec<_> = listed.iter().filter(is_expected).cloned().collect();
        // The list of one user's server does not matter to another user.
        self.offer(if self.is_per_user { &expected } else { &usable });
        usable.into_iter().map(|tool| tool.name).collect()
    }

    /// Offers these tools, unless the same are offered already.
    fn offer(&self, definitions: &[ServerTool]) {
        let is_allowed = |tool: &&ServerTool| {
            let allow = self.allow.as_ref();
            allow.is_none_or(|allow| allow.is_match(&tool.name))
        };
        let allowed: Vec<_> = definitions.iter().filter(is_allowed).collect();
        let mut state = self.state();
        let unchanged = |tool: &ServerTool| {
            let mut offered = state.offered.iter();
            offered.find(|it| is_same(it, tool)).cloned()
        };
        let source_tools = allowed
            .iter()
            .filter_map(|tool| unchanged(tool).or_else(|| self.source_tool(tool)));
        let source_tools: Vec<_> = source_tools.collect();
        let is_repeatable = |tool: &&&ServerTool| tool.annotations.is_repeatable();
        let repeatable = allowed.iter().filter(is_repeatable);
        let repeatable = repeatable.map(|tool| tool.name.clone()).collect();
        let names = |tools: &[SourceTool]| -> Vec<_> {
            tools
                .iter()
                .map(|tool| Arc::as_ptr(&tool.arguments))
                .collect()
        };
        if names(&state.offered) != names(&source_tools) {
            state.offered = source_tools.into();
        }
        state.repeatable = repeatable;
    }

    fn source_tool(&self, tool: &ServerTool) -> Option<SourceTool> {
        let source_tool = tool.to_source_tool(self.call_timeout);
        let source_tool = source_tool.inspect_err(|error| {
            let tool = text::shorten_name(&tool.name);
            tracing::warn!(server = self.server, tool, error, "a tool is off");
        });
        source_tool.ok()
    }

    /// Logs the tools that are not as MCP demands, once for each list of them.
    fn log_unusable(&self, unusable: &[UnusableTool]) {
        let mut state = self.state();
        if state.logged_unusable == unusable {
            return;
        }
        if let Some(first) = unusable.first() {
            let names: Vec<_> = unusable.iter().map(|tool| tool.name.clone()).collect();
            tracing::warn!(
                server = self.server,
                tools = short_list(&names),
                problem = first.problem,
                "tools of a server are off: see `mcp-web agent mcp doctor`"
            );
        }
        state.logged_unusable = unusable.to_vec();
    }

    /// Logs how the tools differ from those that are expected, once for each difference.
    fn log_difference(&self, difference: PinDifference) {
        let mut state = self.state();
        if state.logged.as_ref() == Some(&difference) {
            return;
        }
        if !difference.is_empty() {
            let changed = difference.changed.iter().map(|(tool, _)| tool.name.clone());
            let changed: Vec<_> = changed.collect();
            tracing::warn!(
                server = self.server,
                added = short_list(&difference.added),
                removed = short_list(&difference.removed),
                changed = short_list(&changed),
                "tools of a server are not those that were looked at, and are off: see \
                 `mcp-web agent mcp sync --check`"
            );
        }
        state.logged = Some(difference);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same(tool: &SourceTool, definition: &ServerTool) -> bool {
    tool.name == definition.name
        && tool.description == definition.description
        && tool.class == definition.annotations.class()
        && *tool.arguments.schema() == definition.input_schema
}

fn short_list(names: &[String]) -> String {
    let shown = names.iter().take(MAX_LOGGED_NAMES);
    let shown: Vec<_> = shown
        .map(|name| format!("{:?}", text::shorten_name(name)))
        .collect();
    let more = names.len().saturating_sub(MAX_LOGGED_NAMES);
    let shown = shown.join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::server_tool as tool;

    fn listed(tools: &[ServerTool]) -> Listed {
        Listed {
            tools: tools.to_vec(),
            unusable: Vec::new(),
        }
    }

    fn offered(table: &ToolTable) -> Vec<String> {
        table
            .offered()
            .iter()
            .map(|tool| tool.name.clone())
            .collect()
    }

    #[test]
    fn the_list_of_one_users_server_does_not_affect_other_users() {
        let table = ToolTable::new("s", None, None, None, true);
        assert!(!table.is_known());
        let first = [tool("read", "r"), tool("write", "w")];
        assert_eq!(table.update(&listed(&first)).len(), 2);
        let other = [tool("read", "sends all to us"), tool("steal", "s")];
        assert!(table.update(&listed(&other)).is_empty());
        assert_eq!(offered(&table), ["read", "write"]);
        let shared = ToolTable::new("s", Some(first.to_vec()), None, None, false);
        assert!(shared.update(&listed(&other)).is_empty());
        assert!(offered(&shared).is_empty());
        assert_eq!(shared.update(&listed(&first)).len(), 2);
        assert_eq!(offered(&shared), ["read", "write"]);
    }

    #[test]
    fn an_empty_list_is_not_what_is_expected_from_then_on() {
        let table = ToolTable::new("s", None, None, None, false);
        assert!(table.update(&listed(&[])).is_empty());
        assert_eq!(table.update(&listed(&[tool("late", "l")])).len(), 1);
        assert_eq!(offered(&table), ["late"]);
        let same = table.offered();
        table.update(&listed(&[tool("late", "l")]));
        assert!(Arc::ptr_eq(&same, &table.offered()));
    }

    #[test]
    fn a_warning_has_few_names_and_none_in_full_length() {
        let names: Vec<_> = (0..9)
            .map(|n| format!("{n}\u{1b}{}", "x".repeat(500)))
            .collect();
        let list = short_list(&names);
        assert!(list.ends_with(" and 4 more") && list.len() < 500, "{list}");
        assert!(!list.contains('\u{1b}'));
    }
}
