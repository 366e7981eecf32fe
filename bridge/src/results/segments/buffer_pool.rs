//! Memory for texts that are escaped while they are sent.
//!
//! It is used again: the next text is written where the last one was, which the processor still has at
//! hand, and the kernel has no fresh pages to make.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// So many rooms are kept for others. Each connection that a long result is sent on needs one.
const MAX_POOLED_BUFFERS: usize = 8;

static POOL: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Somebody else's as soon as it is dropped.
struct PooledBuffer(Vec<u8>);

/// What is written, in memory that was used before.
pub(super) fn write_pooled(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut buffer = lock_pool().pop().unwrap_or_default();
    buffer.clear();
    write(&mut buffer);
    Bytes::from_owner(PooledBuffer(buffer))
}

fn lock_pool() -> MutexGuard<'static, Vec<Vec<u8>>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        let mut free = lock_pool();
        if free.len() < MAX_POOLED_BUFFERS {
            free.push(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_return_to_the_pool_once_dropped() {
        let room = |text: &[u8]| write_pooled(|out| out.extend_from_slice(text));
        let (one, two) = (room(b"one"), room(b"two"));
        let half = one.slice(1..);
        drop((one, two));
        let others: Vec<_> = (0..2 * MAX_POOLED_BUFFERS)
            .map(|_| room(b"other"))
            .collect();
        assert_eq!(half, "ne");
        assert!(others.iter().all(|other| other == "other"));
        drop(others);
        assert!((1..=MAX_POOLED_BUFFERS).contains(&lock_pool().len()));
    }
}
