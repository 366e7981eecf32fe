//! A tool of a source, as models call it.

use std::sync::Arc;

use super::managed_source::ManagedSource;
use super::source::SourceTool;

/// A tool of a source, with the name by which models call it.
#[derive(Clone, Debug)]
pub(crate) struct OfferedTool {
    pub(crate) name: String,
    pub(crate) tool: SourceTool,
    pub(super) source: Arc<ManagedSource>,
}

impl OfferedTool {
    /// Returns the name of the source.
    pub(crate) fn source_name(&self) -> &str {
        self.source.name()
    }
}
