//! A tool of a source, as models call it.

use std::sync::Arc;

use crate::managed_source::ManagedSource;
use crate::source::SourceTool;

/// A tool of a source, with the name by which models call it.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// The name by which models call it.
    pub name: String,
    /// The name that the patterns of profiles mean: that of the source, and that within it.
    pub full_name: String,
    /// The tool as its source defines it.
    pub tool: SourceTool,
    pub(super) source: Arc<ManagedSource>,
}

impl OfferedTool {
    /// Returns the size of the definition as input of a model, in bytes.
    pub(super) fn definition_bytes(&self) -> usize {
        let description = self.tool.description.as_ref().map_or(0, String::len);
        self.name.len() + description + self.tool.arguments.schema().to_string().len()
    }

    /// Returns the name of the source.
    pub fn source_name(&self) -> &str {
        self.source.name()
    }
}
