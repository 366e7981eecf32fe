//! JSON Schema 2020-12 whose work has an upper limit.
//!
//! Pages register any schema they like, and arguments and results are checked against them on the
//! bridge. So nothing is checked whose cost is not known before:
//!
//! 1. [`dialect`] upgrades a schema of an older draft to 2020-12 and refuses what is not valid there.
//! 2. [`patterns`](mod@patterns) finds the patterns that run in linear time; the others are not enforced.
//! 3. [`subschemas`] lists a schema's subschemas and how they apply to each other, and [`cost`] makes a
//!    [`cost::CostModel`] of them with the prices of [`keyword_cost`].
//! 4. [`Validator`] refuses a value that would cost too much, says whether a check is cheap enough for a
//!    thread that serves sockets, and reports violations in bounded text.
//!
//! Only this crate knows the `jsonschema` crate. It has no I/O and starts no threads.

pub mod cost;
pub mod dialect;
#[cfg(test)]
mod hostile;
pub mod keyword_cost;
pub mod patterns;
pub mod subschemas;
#[cfg(test)]
mod table;
mod validator;
pub mod walk;

pub use validator::{ValidationFailure, Validator, Violation};
