//! Configuration files that other programs and people also write: how they are read, changed in
//! place, and replaced.
//!
//! 1. [`read_file`] reads a file up to a maximum size.
//! 2. [`jsonc`] parses JSON with comments, and sets or removes one member of an object. The rest of
//!    the text stays unchanged, byte for byte.
//! 3. [`replace_file`] replaces the file, unless another program has changed it since it was read.

mod excerpt;
pub mod jsonc;
mod read_file;
mod replace_file;
mod text_lines;

pub use excerpt::excerpt;
pub use read_file::read_file;
pub use replace_file::{FileMode, replace_file};
pub use text_lines::{error_at, line_break};
