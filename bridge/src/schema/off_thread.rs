//! Validation that takes longer than a socket can wait.

use std::sync::{Arc, LazyLock};
use std::thread;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::{Misfit, Validator};

/// As many at a time as there are processors: more would be no faster, and each may hold a large
/// value. Others wait; what is quick never waits.
static ROOM: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(thread::available_parallelism().map_or(1, usize::from)));

/// Checks a value against one of the schemas of `owner`, on a thread of its own if it is much work.
pub(crate) async fn check<T: Send + Sync + 'static>(
    owner: &Arc<T>,
    schema: fn(&T) -> Option<&Validator>,
    value: Value,
) -> Result<(), Misfit> {
    let Some(validator) = schema(owner) else {
        return Ok(());
    };
    if validator.is_quick(&value) {
        return validator.check(&value);
    }
    // The room is given back when the work is done, also if nobody waits for it any more.
    let room = ROOM.acquire().await;
    let owner = Arc::clone(owner);
    let checked = tokio::task::spawn_blocking(move || {
        let _room = room;
        schema(&owner).map_or(Ok(()), |validator| validator.check(&value))
    });
    checked
        .await
        .unwrap_or_else(|_| Err(Misfit::BadSchema("validation stopped".to_owned())))
}
