//! Request bodies within the limits of the bridge.

use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_edge::body::{self, BodyError};
use bridge_protocol::ErrorCode;
use bridge_realm::realm::CallFailure;
use bytes::Bytes;
use http_body::Body;
use tokio::time::timeout;

use super::{AppState, Problem};
use crate::budget::{BudgetExceeded, Party, ScanTurn};

/// A body of at most this size usually arrives together with the head of its request.
const SHORT_BODY_BYTES: u64 = 8 * 1024;

/// The maximum size of a body that is read without a valid token.
const MAX_UNAUTHENTICATED_BODY_BYTES: usize = 64 * 1024;

/// How long a body that is read without a valid token may take.
const UNAUTHENTICATED_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads a whole body of at most `max_request_bytes`, and replaces surrogates without a partner in
/// its JSON by U+FFFD. The caller of the request must have been authenticated. The body counts for
/// the memory of the caller as long as any part of it exists.
///
/// Returns the turn of a long body as well, for the scans that follow at once.
///
/// # Errors
///
/// When the body is larger, did not arrive completely or in time, or when the caller already uses
/// as much memory or time of the processor as it may.
pub(crate) async fn read_to_end_limited<B>(
    state: &AppState,
    body: B,
    caller: Party<RealmId>,
) -> Result<(Bytes, Option<ScanTurn>), Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let max_bytes = state.hub.config.network.max_request_bytes;
    let realm = caller.member;
    let mut lease = state.hub.budgets.memory.lease(caller);
    let mut exceeded = None;
    let read = body::read_to_end_with_room(pin!(body), max_bytes, |bytes| {
        exceeded = lease.resize_counted(bytes).err();
        exceeded.is_none()
    })
    .await;
    if let Some(exceeded) = exceeded {
        return Err(no_memory_for_body(exceeded));
    }
    let bytes = read.map_err(|error| match error {
        BodyError::TooLarge | BodyError::NoRoom => request_too_large(format!(
            "the request has more than {max_bytes} bytes: send less, or raise `max_request_bytes`"
        )),
        BodyError::TimedOut => request_timeout(
            "the body of the request came too slowly: send it again, or raise \
             `request_body_progress_within` and `request_body_within`",
        ),
        BodyError::Unreadable(cause) => unreadable(&cause),
    })?;
    let cpu_pool = &state.hub.budgets.cpu_pool;
    let turn = cpu_pool.scan_turn(realm, bytes.len()).await;
    let turn = turn.map_err(CallFailure::from)?;
    let bytes = body::repair_surrogates(bytes);
    Ok((lease.attach_to(bytes), turn))
}

fn no_memory_for_body(exceeded: BudgetExceeded) -> Problem {
    let BudgetExceeded {
        of_token,
        of_address,
        max_bytes,
    } = exceeded;
    let message = format!(
        "there is no memory for the body of this request: requests and messages with this token \
         use {of_token} bytes, and those of its address {of_address}, of {max_bytes} for all \
         (`max_memory_bytes`). Send fewer of them at the same time, and retry"
    );
    Problem::new(ErrorCode::MemoryLimitExceeded, message)
}

/// Reads a whole body as [`read_to_end_limited`] does, for a request of an MCP session. Unless the
/// body arrives at once, the session is in use until it has arrived: the guard that
/// `begin_activity` returns is held until then.
pub(crate) async fn read_to_end_in_session<B, G>(
    state: &AppState,
    body: B,
    caller: Party<RealmId>,
    begin_activity: impl FnOnce() -> G,
) -> Result<(Bytes, Option<ScanTurn>), Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let size = body.size_hint().upper();
    let is_short = size.is_some_and(|bytes| bytes <= SHORT_BODY_BYTES);
    let mut begin_activity = Some(begin_activity);
    let mut activity = None;
    let mut is_first_poll = true;
    // Pinned here, because each of the futures that read it would otherwise be larger by the body.
    let body = pin!(body);
    let mut reading = pin!(read_to_end_limited(state, body, caller));
    poll_fn(|context| {
        let polled = reading.as_mut().poll(context);
        // The first poll of every body only asks for it.
        let is_expected = is_first_poll && is_short;
        is_first_poll = false;
        if polled.is_pending()
            && !is_expected
            && let Some(begin) = begin_activity.take()
        {
            activity = Some(begin());
        }
        polled
    })
    .await
}

/// Reads a whole small body of a request without a valid token, whose credential may be in the
/// body.
///
/// # Errors
///
/// When the body is larger than 64 KiB, or did not arrive completely or within 5 s.
pub(crate) async fn read_unauthenticated<B>(body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let read = body::read_to_end_limited(body, MAX_UNAUTHENTICATED_BODY_BYTES);
    let read = timeout(UNAUTHENTICATED_BODY_TIMEOUT, read).await;
    match read.unwrap_or(Err(BodyError::TimedOut)) {
        Ok(body) => Ok(body::repair_surrogates(body)),
        Err(BodyError::TooLarge | BodyError::NoRoom) => Err(request_too_large(format!(
            "without a valid token a request has at most {MAX_UNAUTHENTICATED_BODY_BYTES} bytes: \
             send `Authorization: Bearer …` with a token of the page's user"
        ))),
        Err(BodyError::TimedOut) => Err(request_timeout(
            "without a valid token the body of a request must be there within 5 s: send \
             `Authorization: Bearer …` with a token of the page's user",
        )),
        Err(BodyError::Unreadable(cause)) => Err(unreadable(&cause)),
    }
}

fn request_too_large(message: String) -> Problem {
    Problem::new(ErrorCode::RequestTooLarge, message)
}

fn request_timeout(message: &str) -> Problem {
    Problem::new(ErrorCode::RequestTimeout, message)
}

fn unreadable(cause: &str) -> Problem {
    let message = format!("the body cannot be read: {cause}");
    Problem::new(ErrorCode::ProtocolViolation, message)
}
