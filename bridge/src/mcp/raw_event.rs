//! Stored events, and their conversion for rmcp, which replays them.
//!
//! The events of calls are JSON that is not parsed into rmcp's model. Such an event becomes a custom
//! message of the model.

use std::time::Duration;

use bytes::Bytes;
use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorData, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerRequest, ServerResult,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use bridge_auth::RealmId;

use crate::cpu_pool::{CpuPool, INLINE_LIMIT, WorkOrder};

/// How long a client waits before it resumes a lost stream. rmcp sends an equal delay.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(3);

/// An event of a stream as the log stores it. rmcp's events are values of its model; those of calls
/// are the JSON that was sent.
#[derive(Clone)]
pub(super) enum StoredEvent {
    Model(ServerSseMessage),
    /// The first event of a stream. From its id on, a client can resume the stream.
    Retry,
    /// A notification, or a request to the client.
    Message(Bytes),
    Response(Bytes),
}

#[derive(Deserialize)]
struct Message {
    id: Option<RequestId>,
    method: String,
    params: Option<Value>,
}

#[derive(Deserialize)]
struct Response {
    id: RequestId,
    #[serde(default)]
    result: Value,
    error: Option<ErrorData>,
}

/// Converts a stored event for a client of this realm. Returns `None` if too much work of the realm
/// waits.
pub(super) async fn to_sse_message(
    stored: StoredEvent,
    cpu_pool: &CpuPool,
    realm: RealmId,
) -> Option<ServerSseMessage> {
    let message = match stored {
        StoredEvent::Model(event) => return Some(event),
        StoredEvent::Retry => return Some(ServerSseMessage::retry(RETRY_DELAY)),
        StoredEvent::Message(json) => {
            let Message { id, method, params } = serde_json::from_slice(&json).ok()?;
            match id {
                Some(id) => {
                    let request = CustomRequest::new(method, params);
                    ServerJsonRpcMessage::request(ServerRequest::CustomRequest(request), id)
                }
                None => {
                    let custom = CustomNotification::new(method, params);
                    ServerJsonRpcMessage::notification(ServerNotification::CustomNotification(
                        custom,
                    ))
                }
            }
        }
        StoredEvent::Response(json) => {
            let Response { id, result, error } = if json.len() < INLINE_LIMIT {
                decode(&json)?
            } else {
                let order = WorkOrder::for_json(realm, json.len());
                cpu_pool.run(order, move || decode(&json)).await.ok()??
            };
            match error {
                Some(error) => ServerJsonRpcMessage::error(error, Some(id)),
                None => {
                    let result = ServerResult::CustomResult(CustomResult(result));
                    ServerJsonRpcMessage::response(result, id)
                }
            }
        }
    };
    Some(ServerSseMessage::from_message(message))
}

fn decode<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    serde_json::from_slice(json).ok()
}
