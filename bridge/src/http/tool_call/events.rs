//! A call of plain HTTP as an event stream: the progress of the call, and its result or its error at
//! the end. Comments keep the connection alive in between. The data of each event is an object with
//! a `type`.

use std::future::ready;
use std::sync::Arc;

use axum::response::Response;
use bridge_protocol::{CallContext, ClientRequest, ClientResponse};
use bridge_realm::realm::CallerEvent;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Number;

use super::outcome::{complete, encode};
use crate::calls::{self, CallOptions, CallRequest, ClientChannel, Recorded, SilentClient};
use crate::counters::CountedEnd;
use crate::hub::Hub;
use crate::mcp::{EncodedResponse, MessageBuffer, serve_events};

/// The client of a call whose response is the result only.
pub(super) static SILENT_CLIENT: SilentClient =
    SilentClient("the caller speaks plain HTTP: it cannot be asked");

/// The ends of the event with the result.
const RESULT: [&[u8]; 2] = [b"{\"type\":\"result\",\"result\":{", b"}}"];

/// Runs the call. Its response is an event stream, unless it fails before the stream begins.
///
/// `body` is kept while the call runs.
pub(super) async fn serve(hub: &Arc<Hub>, request: CallRequest<'static>, body: Bytes) -> Response {
    let messages = Arc::<MessageBuffer>::default();
    let client = EventClient(Arc::clone(&messages));
    let hub = Arc::clone(hub);
    let run = async move {
        let CallRequest {
            caller,
            tool,
            arguments,
        } = request;
        let party = (caller.realm, caller.address);
        let caller = CallOptions {
            client: &client,
            call_context: CallContext {
                progress: true,
                ..caller.call_context
            },
            ..caller
        };
        let request = CallRequest {
            caller,
            tool,
            arguments,
        };
        let Recorded { outcome, record } = calls::call_tool(&hub, request).await;
        let response = match complete(outcome) {
            Ok(result) => encode(&hub, party, result, RESULT).await,
            Err(problem) => {
                let mut event = problem.to_json();
                event["type"] = "error".into();
                let end = CountedEnd::Failed(Some(problem.code));
                EncodedResponse::new(problem.status, event.to_string().into_bytes()).ending(end)
            }
        };
        drop(body);
        response.recorded(record)
    };
    serve_events(messages, Box::pin(run)).await
}

/// A client that receives the progress of its call, and cannot be asked.
struct EventClient(Arc<MessageBuffer>);

#[derive(Serialize)]
struct ProgressEvent {
    r#type: &'static str,
    progress: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl ClientChannel for EventClient {
    fn notify(&self, event: CallerEvent) -> BoxFuture<'_, ()> {
        // Logs are left out: only a client of MCP sets the level from which it wants them.
        if let CallerEvent::Progress(report) = event {
            self.0.push(&ProgressEvent {
                r#type: "progress",
                progress: report.progress,
                total: report.total,
                message: report.message,
            });
        }
        Box::pin(ready(()))
    }

    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        SILENT_CLIENT.request(request)
    }

    fn uses_input_required(&self) -> bool {
        false
    }
}
