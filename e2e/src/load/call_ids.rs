//! The ids of the calls of a run.

use std::ops::Range;

/// The ids of calls; all have the same number of digits.
pub(super) const CALL_IDS: Range<u64> = 1_000_000_000..10_000_000_000;

/// The number of digits of an id.
pub(super) const ID_DIGITS: usize = 10;
