//! A pool of buffers for text that is escaped while it is sent.
//!
//! A reused buffer is still in the processor's cache, and the kernel does not have to map new
//! pages.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// The maximum number of free buffers in the pool. Each connection that sends a large result uses
/// one buffer.
const MAX_POOLED_BUFFERS: usize = 8;

static POOL: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// A buffer that returns to the pool when it is dropped.
struct PooledBuffer(Vec<u8>);

/// The bytes that `write` appends to a buffer from the pool.
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
        let write = |text: &[u8]| write_pooled(|out| out.extend_from_slice(text));
        let (one, two) = (write(b"one"), write(b"two"));
        let half = one.slice(1..);
        drop((one, two));
        let others: Vec<_> = (0..2 * MAX_POOLED_BUFFERS)
            .map(|_| write(b"other"))
            .collect();
        assert_eq!(half, "ne");
        assert!(others.iter().all(|other| other == "other"));
        drop(others);
        assert!((1..=MAX_POOLED_BUFFERS).contains(&lock_pool().len()));
    }
}
