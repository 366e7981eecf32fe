//! Describes the configuration for the operator: the sources, and the profiles with the tools that
//! they allow.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::managed_source::ManagedSource;
use crate::profile::ToolProfile;
use crate::sources::Sources;

impl Sources {
    /// Returns the number of sources that cannot be used.
    pub fn problem_count(&self) -> usize {
        self.unused.iter().filter(|it| it.problem.is_some()).count()
    }

    /// Describes the sources and the profiles. Names and problems may contain control characters.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for source in self.all() {
            text += &format!("source {}: {}\n", source.name(), describe_source(source));
        }
        for source in &self.unused {
            let state = match &source.problem {
                Some(problem) => format!("off: {problem}"),
                None => "disabled".to_owned(),
            };
            text += &format!("source {}: {state}\n", source.name);
        }
        for profile in &self.profiles {
            text += &self.describe_profile(profile);
        }
        text
    }

    fn describe_profile(&self, profile: &ToolProfile) -> String {
        let mut text = format!("profile {}: for {}\n", profile.name, profile.conditions());
        for tool in self.offered().iter().filter(|it| profile.allows(it)) {
            let class = tool.tool.class;
            let asks = if class.must_be_approved(&profile.ask) {
                ", after a person's approval"
            } else {
                ""
            };
            // Writing into a string cannot fail.
            let _ = writeln!(text, "  {}: {class}{asks}", tool.full_name);
        }
        let is_unknown =
            |it: &&Arc<ManagedSource>| !it.source.has_known_tools() && profile.can_allow(it.name());
        for source in self.all().iter().filter(is_unknown) {
            let _ = writeln!(
                text,
                "  {}-…: not known before it has started",
                source.name()
            );
        }
        if text.lines().count() == 1 {
            text += "  no tool\n";
        }
        text
    }
}

fn describe_source(source: &ManagedSource) -> String {
    let kind = source.source.meta().kind;
    if !source.source.has_known_tools() {
        return format!("{kind}, its tools are not pinned");
    }
    match source.source.tools().len() {
        1 => format!("{kind}, 1 tool"),
        tools => format!("{kind}, {tools} tools"),
    }
}
