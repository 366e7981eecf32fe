//! The tool `get_result`: waits for a call that goes on, reads the rest of what was cut, cancels.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use bridge_protocol::{CallId, ErrorCode};
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::Caller;
use super::fitting::{fitted_again, stopped};
use super::leaving::still_running;
use super::progress::News;
use crate::hub::Hub;
use crate::kept::{Handle, Record};
use crate::off_thread;
use crate::realm::Failure;
use crate::result::ToolResult;
use crate::result::fit::part;

/// What is wanted of a result.
struct Wanted {
    handle: Handle,
    offset: Option<usize>,
    length: Option<usize>,
    cancel: bool,
}

impl Wanted {
    fn read(arguments: &Map<String, Value>) -> Result<Self, &'static str> {
        let number = |key| match arguments.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value
                    .as_u64()
                    .and_then(|number| usize::try_from(number).ok());
                number
                    .map(Some)
                    .ok_or("`offset` and `length` must be whole numbers of bytes")
            }
        };
        let handle = arguments.get("handle").and_then(Value::as_str);
        let handle = handle.ok_or("`handle` must be a string: it is in the answer of the call")?;
        let length = number("length")?;
        if length == Some(0) {
            return Err("`length` must be at least 1");
        }
        Ok(Self {
            handle: Handle::of(handle),
            offset: number("offset")?,
            length,
            cancel: match arguments.get("cancel") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(cancel)) => *cancel,
                Some(_) => return Err("`cancel` must be true or false"),
            },
        })
    }
}

/// Answers a call of the tool.
pub(crate) async fn get_result(
    hub: &Hub,
    caller: &Caller<'_>,
    arguments: &Map<String, Value>,
) -> ToolResult {
    let wanted = match Wanted::read(arguments) {
        Ok(wanted) => wanted,
        Err(why) => return refused(ErrorCode::InvalidArguments, why.to_owned()),
    };
    let handle = wanted.handle;
    let found = hub.kept.find(caller.realm, handle.as_str());
    let Some(record) = found.filter(|record| may_read(caller, record)) else {
        return not_found(hub, &handle);
    };
    if wanted.cancel {
        return cancelled(hub, caller, record).await;
    }
    let Some(result) = waited(hub, caller, record.clone()).await else {
        return still_running(&record.tool, &handle, false);
    };
    if wanted.offset.is_none() && wanted.length.is_none() {
        return fitted_again(caller, result, handle).await;
    }
    let cap = caller.takes.cap(None, false);
    let offset = wanted.offset.unwrap_or(0);
    let part = off_thread::run(move || part(&result, &handle, offset, wanted.length, cap));
    part.await.unwrap_or_else(stopped)
}

/// The agent of a query sees what its own calls left, and nothing else of its token.
fn may_read(caller: &Caller<'_>, record: &Record) -> bool {
    let query = caller.context.query_id.as_ref();
    query.is_none_or(|query| record.is_of(query))
}

/// Waits for the result as long as the client has patience.
async fn waited(hub: &Hub, caller: &Caller<'_>, mut record: Record) -> Option<Arc<ToolResult>> {
    let call = record.call.clone().unwrap_or_else(|| CallId::from(""));
    let (name, started) = (record.tool.clone(), record.started);
    let mut news = News::of(hub, caller, &name, started);
    let mut patience = pin!(async {
        match caller.takes.patience {
            Some(patience) => sleep(patience).await,
            None => pending().await,
        }
    });
    let mut result = pin!(record.result());
    loop {
        tokio::select! {
            biased;
            result = &mut result => return Some(result),
            () = &mut patience => return None,
            event = news.still(&call, false) => {
                if let Some(event) = event {
                    caller.client.notify(event).await;
                }
            }
        }
    }
}

/// Calls off what is under way.
async fn cancelled(hub: &Hub, caller: &Caller<'_>, mut record: Record) -> ToolResult {
    let tool = record.tool.clone();
    if let (Some(call), None) = (&record.call, record.ended()) {
        hub.cancel_call(
            caller.realm,
            call,
            "the client cancelled it with get_result",
        );
        let result = record.result().await;
        if result.failed_with(ErrorCode::CallCancelled) {
            return ToolResult::text(format!("`{tool}` was cancelled."));
        }
    }
    ToolResult::text(format!(
        "`{tool}` had ended before: call get_result without `cancel` for its result."
    ))
}

fn not_found(hub: &Hub, handle: &Handle) -> ToolResult {
    let minutes = hub.config.results.result_ttl.as_secs_f32() / 60.0;
    let message = format!(
        "nothing is kept under the handle {:?}: results are kept for {minutes} min, and make place \
         for newer ones. Call the tool again",
        handle.shown()
    );
    refused(ErrorCode::HandleNotFound, message)
}

fn refused(code: ErrorCode, message: String) -> ToolResult {
    ToolResult::failure(&Failure::new(code, message))
}
