//! Tools are stored as text until they are used. Long definitions are then parsed in the CPU pool,
//! and not by the thread that uses them.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_realm::definition::SharedTool;

use super::Hub;
use crate::budget::{WorkError, WorkOrder};

impl Hub {
    /// Parses a tool of a realm, unless it is parsed or short.
    ///
    /// # Errors
    ///
    /// Too much work of the realm waits.
    pub(crate) async fn parse_tool(
        &self,
        realm: RealmId,
        tool: &Arc<SharedTool>,
    ) -> Result<(), WorkError> {
        let order = match WorkOrder::for_definitions(realm, tool.bytes()) {
            Some(order) if !tool.is_parsed() => order,
            _ => return Ok(()),
        };
        let tool = Arc::clone(tool);
        self.run_work(order, move || tool.parse_now()).await
    }
}

/// Returns the work of building a list of tools, of which those are encoded first that are not;
/// `None` if that is little.
pub(crate) fn tool_list_work<'a>(
    realm: RealmId,
    tools: impl IntoIterator<Item = &'a Arc<SharedTool>>,
    is_encoded: impl Fn(&SharedTool) -> bool,
) -> Option<WorkOrder> {
    let (mut bytes, mut unencoded_bytes) = (0, 0);
    for tool in tools {
        bytes += tool.bytes();
        if !is_encoded(tool) {
            unencoded_bytes += tool.bytes();
        }
    }
    WorkOrder::for_list(realm, bytes, unencoded_bytes)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;
    use crate::agent_queries::AgentQueries;
    use crate::budget::{WorkLength, occupy};
    use crate::config::Config;

    fn unparsed_tool(bytes: usize) -> Arc<SharedTool> {
        let definition = json!({ "name": "t", "description": "x".repeat(bytes) });
        let raw = RawValue::from_string(definition.to_string()).unwrap();
        Arc::new(SharedTool::parse(&raw).unwrap().unparsed())
    }

    #[tokio::test]
    async fn long_definitions_are_parsed_in_the_pool_when_they_are_used() {
        let hub = Hub::new(
            Config::default(),
            |_, _| Ok(()),
            Arc::<AgentQueries>::default(),
        );
        let [a, b] = ["a", "b"].map(RealmId::from_token);
        let occupied = occupy(&hub.budgets.cpu_pool, a, WorkLength::Short, 0);
        let (short, long) = (unparsed_tool(100), unparsed_tool(20_000));
        assert_eq!(hub.parse_tool(a, &short).now_or_never(), Some(Ok(())));
        assert_eq!(hub.parse_tool(a, &long).now_or_never(), None);
        // Another token has its own turn, and then there is nothing left to do.
        assert_eq!(hub.parse_tool(b, &long).await, Ok(()));
        assert!(long.is_parsed() && !short.is_parsed());
        assert_eq!(hub.parse_tool(a, &long).now_or_never(), Some(Ok(())));
        drop(occupied);
        assert_eq!(hub.parse_tool(a, &unparsed_tool(20_000)).await, Ok(()));
    }

    #[test]
    fn only_long_lists_of_tools_are_built_in_the_pool() {
        let realm = RealmId::from_token("a");
        let length = |bytes: usize, count: usize, is_encoded: bool| {
            let tools = vec![unparsed_tool(bytes); count];
            tool_list_work(realm, &tools, |_| is_encoded).map(|order| order.length)
        };
        assert_eq!(length(1_000, 5, false), None);
        assert_eq!(length(1_000, 20, false), Some(WorkLength::Short));
        assert_eq!(length(1_000, 200, false), Some(WorkLength::Long));
        // Entries that are encoded are only copied.
        assert_eq!(length(1_000, 200, true), None);
        assert_eq!(length(1_000, 500, true), Some(WorkLength::Short));
        assert_eq!(length(1_000, 2_000, true), Some(WorkLength::Long));
    }
}
