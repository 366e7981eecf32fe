//! Tools are stored as text until they are used. Long definitions are then parsed in the CPU pool,
//! and not by the thread that uses them.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_realm::definition::Tool;

use super::Hub;
use crate::cpu_pool::{INLINE_DEFINITION_BYTES, WorkError, WorkOrder};

impl Hub {
    /// Parses a tool of a realm, unless it is parsed or short.
    ///
    /// # Errors
    ///
    /// Too much work of the realm waits.
    pub(crate) async fn parse_tool(
        &self,
        realm: RealmId,
        tool: &Arc<Tool>,
    ) -> Result<(), WorkError> {
        if tool.is_parsed() || tool.bytes() <= INLINE_DEFINITION_BYTES {
            return Ok(());
        }
        self.prepare_tools(realm, [tool], Tool::is_parsed, Tool::parse_now)
            .await
    }

    /// Calls `prepare` with each tool for which `is_prepared` is false, unless they are few and
    /// short.
    ///
    /// # Errors
    ///
    /// Too much work of the realm waits.
    pub(crate) async fn prepare_tools<'a>(
        &self,
        realm: RealmId,
        tools: impl IntoIterator<Item = &'a Arc<Tool>>,
        is_prepared: impl Fn(&Tool) -> bool,
        prepare: impl Fn(&Tool) + Send + 'static,
    ) -> Result<(), WorkError> {
        let unprepared = tools.into_iter().filter(|tool| !is_prepared(tool));
        let tools: Vec<_> = unprepared.map(Arc::clone).collect();
        let bytes = tools.iter().map(|tool| tool.bytes()).sum();
        if bytes <= INLINE_DEFINITION_BYTES {
            return Ok(());
        }
        let order = WorkOrder::for_definitions(realm, bytes);
        let work = move || tools.iter().for_each(|tool| prepare(tool));
        self.cpu_pool.run(order, work).await
    }
}

#[cfg(test)]
mod tests {
    use bridge_realm::definition::DefinitionRegistry;
    use futures_util::FutureExt;
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;
    use crate::agent_queries::AgentQueries;
    use crate::config::Config;
    use crate::cpu_pool::WorkLength;
    use crate::cpu_pool::tests::occupy;

    fn unparsed_tool(bytes: usize) -> Arc<Tool> {
        let definition = json!({ "name": "t", "description": "x".repeat(bytes) });
        let raw = RawValue::from_string(definition.to_string()).unwrap();
        Arc::new(Tool::parse(&raw).unwrap().unparsed())
    }

    #[tokio::test]
    async fn long_definitions_are_parsed_in_the_pool_when_they_are_used() {
        let definitions = DefinitionRegistry::new(|_, _| Ok(()), 1_000_000);
        let hub = Hub::new(
            Config::default(),
            definitions,
            Arc::<AgentQueries>::default(),
        );
        let [a, b] = ["a", "b"].map(RealmId::from_token);
        let occupied = occupy(&hub.cpu_pool, a, WorkLength::Short, 0);
        let (short, long) = (unparsed_tool(100), unparsed_tool(20_000));
        assert_eq!(hub.parse_tool(a, &short).now_or_never(), Some(Ok(())));
        assert_eq!(hub.parse_tool(a, &long).now_or_never(), None);
        // Another token has its own turn, and then there is nothing left to do.
        assert_eq!(hub.parse_tool(b, &long).await, Ok(()));
        assert!(long.is_parsed() && !short.is_parsed());
        assert_eq!(hub.parse_tool(a, &long).now_or_never(), Some(Ok(())));
        let many = vec![unparsed_tool(1_000); 20];
        let parse = || hub.prepare_tools(a, &many, Tool::is_parsed, Tool::parse_now);
        assert_eq!(parse().now_or_never(), None);
        drop(occupied);
        assert_eq!(parse().await, Ok(()));
        assert!(many.iter().all(|tool| tool.is_parsed()));
    }
}
