//! A call of a turn, with its numbers.

use crate::model::ModelCall;

/// A call with its index in the turn and its number in the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedCall<'a> {
    pub(super) index: usize,
    pub(super) number: usize,
    pub(super) call: &'a ModelCall,
}
