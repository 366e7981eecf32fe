//! A guide, parsed into sections and steps.

use e2e::program_paths;

use super::{DEMO, Transcript};

/// A page of `docs/`, or the README of the demo.
pub(super) struct Guide {
    /// The `##` sections with at least one step.
    pub(super) sections: Vec<Section>,
}

/// The steps that run in one page.
pub(super) struct Section {
    pub(super) title: String,
    /// An `html page` block.
    pub(super) document: Option<String>,
    pub(super) steps: Vec<Step>,
}

/// A block of a guide that is run.
pub(super) enum Step {
    /// A `js` block.
    Script(String),
    /// An `mcp` block.
    Conversation(Transcript),
}

impl Guide {
    pub(super) fn load(name: &str) -> Self {
        let path = match name {
            DEMO => "demo-app/README.md".to_owned(),
            _ => format!("docs/{name}.md"),
        };
        let path = program_paths::workspace().join(path);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let sections = text.split("\n## ").map(Section::parse);
        Self {
            sections: sections
                .filter(|section| !section.steps.is_empty())
                .collect(),
        }
    }
}

impl Section {
    fn parse(text: &str) -> Self {
        let title = text.lines().next().unwrap_or_default();
        let blocks = || text.split("\n```").skip(1).step_by(2);
        let document = blocks().find_map(|block| block.strip_prefix("html page\n"));
        Self {
            title: title.trim_start_matches("# ").to_owned(),
            document: document.map(str::to_owned),
            steps: blocks().filter_map(Step::parse).collect(),
        }
    }

    /// Returns whether a script of the section creates the connection.
    pub(super) fn connects_itself(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Script(script) if script.contains("new McpWeb(")))
    }
}

impl Step {
    /// Parses a block that begins with the language after the fence.
    fn parse(block: &str) -> Option<Self> {
        let (language, body) = block.split_once('\n')?;
        let (language, details) = language.split_once(' ').unwrap_or((language, ""));
        match language {
            "js" => Some(Self::Script(body.to_owned())),
            "mcp" => Some(Self::Conversation(Transcript::parse(details, body))),
            _ => None,
        }
    }
}
