//! JSON with comments and trailing commas, as VS Code writes it: parsing, and changes of one member
//! that leave the rest of the text unchanged. Only this module uses the crate `jsonc-parser`.
//!
//! Its syntax tree can also be changed, but then objects on one line are spread over several, and
//! empty lines are removed. Therefore the changes here insert and cut pieces of the text itself.

mod layout;
mod member;
mod parsing;
mod source;
mod splice;

pub use layout::render_value;
pub use member::{with_member, without_member};
pub use parsing::parse;
