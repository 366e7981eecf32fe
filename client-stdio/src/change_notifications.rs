//! The notifications that a client gets after the bridge was lost or found, with an MCP session or on
//! a `subscriptions/listen`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::message::{self, JsonRpcMessage, JsonRpcRequest};
use crate::request_id::RequestId;
use crate::session_state::SessionState;

/// The lists of MCP that can change.
const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// The parameters of a `subscriptions/listen`.
#[derive(Deserialize)]
struct ListenParams {
    notifications: Map<String, Value>,
}

/// Creates the acknowledgement of a `subscriptions/listen` with all notifications that it requests.
pub(crate) fn acknowledgement(listen: &JsonRpcRequest) -> Option<JsonRpcMessage> {
    let ListenParams { notifications } = listen.params()?;
    let params = json!({ "notifications": notifications });
    let method = "notifications/subscriptions/acknowledged";
    Some(subscription_notification(method, params, &listen.id))
}

/// Creates the notifications for a client with an MCP session after the bridge was lost or found:
/// every list may have changed and, if a bridge is online, every subscribed resource.
pub(crate) fn session_notifications(state: &SessionState, is_online: bool) -> Vec<JsonRpcMessage> {
    let uris = state.resources().filter(|_| is_online);
    changes(LISTS, uris.map(|uri| json!(uri)))
        .map(|(method, params)| message::notification(&method, &params))
        .collect()
}

/// Creates the notifications for one `subscriptions/listen` after the bridge was lost or found, as
/// far as it requests them: every list may have changed and, if a bridge is online, every
/// subscribed resource.
pub(crate) fn subscription_notifications(
    listen: &JsonRpcRequest,
    is_online: bool,
) -> Vec<JsonRpcMessage> {
    let Some(ListenParams { notifications }) = listen.params() else {
        return Vec::new();
    };
    let lists = LISTS.into_iter().filter(|list| {
        notifications.get(&format!("{list}ListChanged")) == Some(&Value::Bool(true))
    });
    let uris = notifications.get("resourceSubscriptions");
    let uris = uris.and_then(Value::as_array).into_iter().flatten();
    changes(lists, uris.filter(|_| is_online).cloned())
        .map(|(method, params)| subscription_notification(&method, params, &listen.id))
        .collect()
}

/// Returns the methods and the parameters of the notifications that these lists and resources have
/// changed.
fn changes(
    lists: impl IntoIterator<Item = &'static str>,
    uris: impl Iterator<Item = Value>,
) -> impl Iterator<Item = (String, Value)> {
    let lists = lists.into_iter();
    let lists = lists.map(|list| (format!("notifications/{list}/list_changed"), json!({})));
    let updated = "notifications/resources/updated";
    lists.chain(uris.map(move |uri| (updated.to_owned(), json!({ "uri": uri }))))
}

fn subscription_notification(method: &str, mut params: Value, id: &RequestId) -> JsonRpcMessage {
    params["_meta"] = json!({ SUBSCRIPTION_ID_KEY: id.to_json() });
    message::notification(method, &params)
}
