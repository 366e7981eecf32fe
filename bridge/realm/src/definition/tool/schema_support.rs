//! How a tool is listed for different clients.

/// The schemas that a client accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaSupport {
    /// Whether it accepts unions at the root of an input schema. Others may pass it to any model
    /// service.
    pub root_unions: bool,
    /// Whether it accepts every keyword at the root of an output schema, as clients of revisions
    /// before 2026-07-28 do not.
    pub output_keywords: bool,
}
