//! Memory for texts that are escaped while they are sent.
//!
//! It is used again: the next text is written where the last one was, which the processor still has at
//! hand, and the kernel has no fresh pages to make.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// So many blocks are kept for others. Each connection that a long result is sent on needs one.
const KEPT: usize = 8;

static FREE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Somebody else's as soon as it is dropped.
struct Block(Vec<u8>);

/// What is written, in memory that was used before.
pub(super) fn written(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut block = free().pop().unwrap_or_default();
    block.clear();
    write(&mut block);
    Bytes::from_owner(Block(block))
}

fn free() -> MutexGuard<'static, Vec<Vec<u8>>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut free = free();
        if free.len() < KEPT {
            free.push(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_used_again_once_nobody_reads_it() {
        let block = |text: &[u8]| written(|out| out.extend_from_slice(text));
        let (one, two) = (block(b"one"), block(b"two"));
        let half = one.slice(1..);
        drop((one, two));
        let others: Vec<_> = (0..2 * KEPT).map(|_| block(b"other")).collect();
        assert_eq!(half, "ne");
        assert!(others.iter().all(|other| other == "other"));
        drop(others);
        assert!((1..=KEPT).contains(&free().len()));
    }
}
