//! What an operator can set.

mod limits;
mod values;

pub use limits::Limits;
pub use values::Secret;
pub(crate) use values::{count, duration, text_without_spaces};
