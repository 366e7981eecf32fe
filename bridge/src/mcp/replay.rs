//! An event of the lane, as rmcp's leg sends it again. It was sent as JSON that no model has read:
//! so it goes through rmcp's model as what that does not know.

use std::time::Duration;

use rmcp::model::{
    CustomNotification, CustomResult, ErrorData, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::events::Stored;
use crate::off_thread::{self, LARGE_BYTES};

/// A client that lost its stream comes back after this, as rmcp has it for its own.
pub(super) const RETRY: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
struct Notification {
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

/// `None` for what the lane does not store.
pub(super) async fn replayed(stored: Stored) -> Option<ServerSseMessage> {
    let message = match stored {
        Stored::Model(event) => return Some(event),
        Stored::Retry => return Some(ServerSseMessage::retry(RETRY)),
        Stored::Notification(json) => {
            let told: Notification = serde_json::from_slice(&json).ok()?;
            let told = CustomNotification::new(told.method, told.params);
            ServerJsonRpcMessage::notification(ServerNotification::CustomNotification(told))
        }
        Stored::Response(json) => {
            let Response { id, result, error } = match json.len() < LARGE_BYTES {
                true => read(&json)?,
                false => off_thread::run(move || read(&json)).await??,
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

fn read<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    serde_json::from_slice(json).ok()
}
