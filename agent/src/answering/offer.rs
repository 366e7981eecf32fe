//! The tools that can be called at the moment.

use std::sync::Arc;
use std::time::Duration;

use crate::bridge::PageTool;
use crate::model::Tool;

/// The tools that can be called at the moment.
#[derive(Debug, Default)]
pub(super) struct Offer {
    tools: Arc<[Tool]>,
    /// What else is known of them, in the same order.
    known: Vec<Known>,
    bytes: u64,
}

/// What the page says of a tool beside what the model reads.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) registered: String,
    pub(super) takes: Option<Duration>,
}

impl Offer {
    pub(super) fn new(listed: Vec<PageTool>) -> Self {
        let (known, tools): (Vec<_>, Vec<_>) = listed.into_iter().map(apart).unzip();
        Self {
            bytes: tools.iter().map(bytes_of).sum(),
            tools: tools.into(),
            known,
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

    /// What the page says of the tool that the model calls `name`.
    pub(super) fn known(&self, name: &str) -> Option<&Known> {
        let place = self.tools.iter().position(|tool| tool.name == name)?;
        self.known.get(place)
    }

    /// How the model must call what the page calls `registered`.
    pub(super) fn offered(&self, registered: &str) -> Option<&str> {
        let mut known = self.known.iter();
        let place = known.position(|known| known.registered == registered)?;
        Some(&self.tools.get(place)?.name)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

fn apart(listed: PageTool) -> (Known, Tool) {
    let PageTool {
        registered,
        takes,
        tool,
    } = listed;
    (Known { registered, takes }, tool)
}

fn bytes_of(tool: &Tool) -> u64 {
    let description = tool.description.as_deref().unwrap_or_default().len();
    (tool.name.len() + description + tool.input_schema.to_string().len()) as u64
}
