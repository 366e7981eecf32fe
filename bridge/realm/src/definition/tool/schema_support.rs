//! How a tool is listed for different clients.

/// The schemas that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaSupport {
    /// Plain keywords at the root: a client of a revision before 2026-07-28.
    Legacy,
    /// No unions at the root of an input schema: a client that may pass it to any model service.
    Modern,
    /// Every valid schema.
    Full,
}
