//! The tools that can be called at the moment.

use std::sync::Arc;

use crate::bridge::PageTool;
use crate::model::Tool;

/// The tools that can be called at the moment.
#[derive(Debug, Default)]
pub(super) struct Offer {
    tools: Arc<[Tool]>,
    /// Their names as registered, in the same order.
    registered: Vec<String>,
    bytes: u64,
}

impl Offer {
    pub(super) fn new(listed: Vec<PageTool>) -> Self {
        let (registered, tools): (Vec<_>, Vec<_>) = listed
            .into_iter()
            .map(|listed| (listed.registered, listed.tool))
            .unzip();
        Self {
            bytes: tools.iter().map(bytes_of).sum(),
            tools: tools.into(),
            registered,
        }
    }

    pub(super) fn tools(&self) -> Arc<[Tool]> {
        Arc::clone(&self.tools)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What a model reads of them.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How the page calls what the model calls `name`.
    pub(super) fn registered(&self, name: &str) -> Option<&str> {
        let place = self.tools.iter().position(|tool| tool.name == name)?;
        Some(&self.registered[place])
    }

    /// How the model must call what the page calls `registered`.
    pub(super) fn offered(&self, registered: &str) -> Option<&str> {
        let place = self.registered.iter().position(|name| name == registered)?;
        Some(&self.tools[place].name)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

fn bytes_of(tool: &Tool) -> u64 {
    let description = tool.description.as_deref().unwrap_or_default().len();
    (tool.name.len() + description + tool.input_schema.to_string().len()) as u64
}
