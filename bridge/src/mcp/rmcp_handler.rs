//! The handler of the MCP methods that rmcp serves, which responds from the realm.

use std::sync::Arc;

use bridge_mcp_results::encoded_size::encoded_len;
use bridge_mcp_results::request_error::RequestError;
use bridge_protocol::Kind;
use bridge_realm::definition::SharedDefinition;
use bridge_realm::realm::Refusal;
use rmcp::model::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    Prompt, Resource, ResourceTemplate, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::large_body::LargeBodyHint;
use super::list_page::ListPage;
use super::notifier::ClientNotifier;
use super::request_context::{address_of, principal_of, reader_of, realm_of, session_of};
use super::sessions::McpSessions;
use super::{capabilities, rmcp_conversions};
use crate::budget::WorkOrder;
use crate::calls::{builtin_resources, pages_awaited_until, wait_for_any_page};
use crate::hub::Hub;
use crate::lifecycle::LoggedClient;

/// The handler of one request, in a session or not.
#[derive(Clone)]
pub(super) struct Handler {
    hub: Arc<Hub>,
    sessions: Arc<McpSessions>,
}

impl Handler {
    pub(super) fn new(hub: Arc<Hub>, sessions: Arc<McpSessions>) -> Self {
        Self { hub, sessions }
    }

    /// Returns a page of the definitions of a kind that rmcp's model accepts. The bridge's own are the
    /// first.
    async fn list_definitions<T: DeserializeOwned + Serialize + Send + 'static>(
        &self,
        builtin: &[Map<String, Value>],
        kind: Kind,
        page: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
        name: fn(&T) -> &str,
    ) -> Result<ListPage<T>, ErrorData> {
        let (realm, address) = (realm_of(context)?, address_of(context)?);
        let is_from_before = session_of(context).is_some_and(|session| session.is_restored());
        let until = pages_awaited_until(&self.hub, realm, is_from_before);
        wait_for_any_page(&self.hub, realm, until).await;
        let definitions = self.hub.with_realm(realm, |realm| realm.published(kind));
        let definitions = definitions.unwrap_or_default();
        let version = context.protocol_version();
        let modern = version.is_some_and(|version| !version.has_initialize());
        let bytes = definitions.iter().map(SharedDefinition::bytes).sum();
        let convert = move || -> Vec<T> {
            let definitions = definitions.iter().map(SharedDefinition::published);
            let models = definitions.map(rmcp_conversions::to_model);
            models.filter_map(Result::ok).collect()
        };
        let failed =
            |failure| rmcp_conversions::to_error_data(RequestError::Failed(failure), modern);
        let lease = self.hub.lease_answer(realm, address, bytes);
        if let Some(lease) = lease.map_err(failed)? {
            LargeBodyHint::set(context, lease);
        }
        let order = WorkOrder::for_definitions(realm, bytes);
        let converted = self.hub.run_work_unless_small(order, convert).await;
        let pages = converted.map_err(|error| failed(error.into()))?;
        let builtin = builtin.iter().map(rmcp_conversions::to_model);
        let all = builtin.filter_map(Result::ok).chain(pages).collect();
        let cursor = page.and_then(|page| page.cursor);
        let max_bytes = self.max_message_bytes(context);
        let cursor = cursor.as_deref();
        let encoded_len = |item: &T| encoded_len(item);
        let page = ListPage::new(all, cursor, max_bytes, encoded_len, name);
        if let Some(left_out) = &page.left_out {
            left_out.record(&self.hub.budgets.refusals, address);
        }
        Ok(page)
    }

    /// Returns the maximum size of any message to the client, if it ends at a larger one.
    fn max_message_bytes(&self, context: &RequestContext<RoleServer>) -> Option<usize> {
        let session = session_of(context).and_then(|session| session.client());
        if let Some((client, _)) = session {
            return client.max_message_bytes();
        }
        let client = context.client_info();
        let name = client.as_ref().map_or("", |client| client.name.as_str());
        reader_of(context).max_message_bytes(&self.hub.config, name)
    }
}

pub(super) fn refusal_to_error(refusal: Refusal) -> ErrorData {
    ErrorData::internal_error(refusal.message, None)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        capabilities::server_config(&self.hub.config)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // MCP 2026-07-28 has the level in `_meta` of each request, and rmcp checks no version here.
        let version = context.protocol_version();
        if version.is_some_and(|version| !version.has_initialize()) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        if let Some(session) = session_of(&context) {
            session.set_log_level(rmcp_conversions::log_level(request.level));
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let context = subscription.request_context();
        let client =
            rmcp_conversions::connected_client(context.client_info(), context.protocol_version());
        let (principal, address) = (principal_of(context)?, address_of(context)?);
        let realm = principal.realm;
        let connected = self
            .sessions
            .connect_client(&self.hub, realm, address, &client);
        let connected = connected.map_err(refusal_to_error)?;
        let _lines = self.hub.lifecycle.open_listener(LoggedClient {
            realm,
            subject: principal.sub.clone(),
            address,
            name: client.info.name,
            mcp_session: None,
        });
        match connected {
            Some(client) => client.listen(subscription).await.map_err(refusal_to_error),
            None => {
                subscription.cancelled().await;
                Ok(())
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let subscribe = |notifier: &ClientNotifier| notifier.subscribe(request.uri);
        let session = session_of(&context);
        let subscribed = session.and_then(|session| session.with_notifier(subscribe));
        subscribed.unwrap_or(Ok(())).map_err(refusal_to_error)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(session) = session_of(&context) {
            session.unsubscribe(&request.uri);
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let page = self
            .list_definitions(&[], Kind::Prompt, page, &context, |it: &Prompt| &it.name)
            .await?;
        Ok(ListPromptsResult {
            next_cursor: page.next_cursor,
            ..ListPromptsResult::with_all_items(page.entries)
        })
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let builtin = &builtin_resources::DEFINITIONS;
        let page = self
            .list_definitions(builtin, Kind::Resource, page, &context, |it: &Resource| {
                &it.name
            })
            .await?;
        Ok(ListResourcesResult {
            next_cursor: page.next_cursor,
            ..ListResourcesResult::with_all_items(page.entries)
        })
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let page = self
            .list_definitions(
                &[],
                Kind::ResourceTemplate,
                page,
                &context,
                |it: &ResourceTemplate| &it.name,
            )
            .await?;
        Ok(ListResourceTemplatesResult {
            next_cursor: page.next_cursor,
            ..ListResourceTemplatesResult::with_all_items(page.entries)
        })
    }
}
