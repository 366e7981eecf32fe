//! docs/ask-ai.md, "With a client of AG-UI".

use std::fs;

use e2e::program_paths;

use crate::code_block;

const GUIDE: &str = include_str!("../../../../docs/ask-ai.md");

/// Returns the arguments of the agent in the guide, without the URL of the bridge.
pub(super) fn agent_arguments() -> Vec<&'static str> {
    let command = code_block(GUIDE, "sh", "--allowed-origins");
    let (_, arguments) = command
        .split_once("--bridge-url http://localhost:3001 ")
        .unwrap();
    arguments.split_whitespace().collect()
}

/// Each block of code is a part of the pages that the tests build and use.
#[test]
fn the_guide_shows_parts_of_the_pages() {
    let folder = program_paths::workspace().join("e2e/agui");
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
    let (_, section) = GUIDE.split_once("## With a client of AG-UI\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    for (language, sources, count) in [
        ("ts", read("notes.ts") + &read("http-agent/main.ts"), 3),
        (
            "tsx",
            read("copilotkit/main.tsx") + &read("assistant-ui/main.tsx"),
            3,
        ),
    ] {
        let fence = format!("\n```{language}\n");
        let blocks = section.split(&fence).skip(1);
        let blocks: Vec<_> = blocks
            .map(|rest| rest.split("```").next().unwrap())
            .collect();
        assert_eq!(blocks.len(), count);
        for block in blocks {
            assert!(sources.contains(block), "no page has this part:\n{block}");
        }
    }
}

#[test]
fn the_guide_names_the_tested_versions() {
    for (client, package, name) in [
        ("http-agent", "@ag-ui/client", "`@ag-ui/client`"),
        ("copilotkit", "@copilotkit/react-core", "CopilotKit"),
        ("assistant-ui", "@assistant-ui/react", "assistant-ui"),
    ] {
        let manifest = program_paths::workspace().join(format!("e2e/agui/{client}/package.json"));
        let manifest: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
        let version = manifest["dependencies"][package].as_str().unwrap();
        assert!(
            GUIDE.contains(&format!("{name} {version}")),
            "{name} {version}"
        );
    }
}
