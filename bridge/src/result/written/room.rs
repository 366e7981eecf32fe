//! Memory for texts that are escaped while they are sent.
//!
//! It is used again: the next text is written where the last one was, which the processor still has at
//! hand, and the kernel has no fresh pages to make.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// So many rooms are kept for others. Each connection that a long result is sent on needs one.
const KEPT: usize = 8;

static FREE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Somebody else's as soon as it is dropped.
struct Room(Vec<u8>);

/// What is written, in memory that was used before.
pub(super) fn written(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut room = free().pop().unwrap_or_default();
    room.clear();
    write(&mut room);
    Bytes::from_owner(Room(room))
}

fn free() -> MutexGuard<'static, Vec<Vec<u8>>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Room {
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
    fn a_room_is_used_again_once_nobody_reads_what_is_in_it() {
        let room = |text: &[u8]| written(|out| out.extend_from_slice(text));
        let (one, two) = (room(b"one"), room(b"two"));
        let half = one.slice(1..);
        drop((one, two));
        let others: Vec<_> = (0..2 * KEPT).map(|_| room(b"other")).collect();
        assert_eq!(half, "ne");
        assert!(others.iter().all(|other| other == "other"));
        drop(others);
        assert!((1..=KEPT).contains(&free().len()));
    }
}
