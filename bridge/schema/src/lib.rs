//! JSON Schema 2020-12 validation with an upper limit for its work.
//!
//! Pages register arbitrary schemas, and the bridge validates arguments and results against them.
//! Therefore the cost of each validation is known before the validation begins:
//!
//! 1. [`dialect`] upgrades a schema of an older draft to 2020-12 and refuses what is not valid
//!    there.
//! 2. [`patterns`](mod@patterns) finds the patterns that can run in linear time; the others are not
//!    enforced.
//! 3. [`subschemas`] builds the graph of the subschemas of a schema, in time that is linear in its
//!    length. [`cost`] refuses a schema that expands too far, and counts the steps of a validation
//!    before it begins. The cost of single keywords is in [`keyword_cost`].
//! 4. [`Validator`] refuses a value that would cost too much, validates only cheap ones on a thread
//!    that serves sockets ([`Effort`]), and reports violations in bounded text
//!    ([`ValidationFailure`]).
//! 5. Text is validated without parsing it where the schema allows that ([`text_validator`]).
//!
//! [`unicode_pattern`] rewrites the patterns of a schema for clients in JavaScript, and
//! [`root_unions`] an input schema for model services.
//!
//! No other crate of the project uses the `jsonschema` crate. It has no I/O and starts no threads.

mod compiled;
pub mod cost;
pub mod dialect;
mod effort;
mod external_references;
pub mod keyword_cost;
pub mod patterns;
mod resources;
pub mod root_unions;
pub mod subschemas;
#[cfg(test)]
mod tests;
mod text_validator;
pub mod unicode_pattern;
mod validation_failure;
mod validator;
pub mod value_count;
pub mod walk;

pub use effort::Effort;
pub use text_validator::TextVerdict;
pub use validation_failure::{ValidationFailure, Violation};
pub use validator::Validator;
