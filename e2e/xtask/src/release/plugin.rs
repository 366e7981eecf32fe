//! The plugin for Claude Code, in a folder that is also a marketplace with this one plugin.

use anyhow::Result;

use super::product::{NAME, fill};
use super::release_folder::ReleaseFolder;

const MARKETPLACE: &str = include_str!("templates/plugin/marketplace.json");
/// The files of the plugin, by their paths in it.
const FILES: [(&str, &str); 4] = [
    (
        ".claude-plugin/plugin.json",
        include_str!("templates/plugin/plugin.json"),
    ),
    ("README.md", include_str!("templates/plugin/README.md")),
    (".mcp.json", include_str!("templates/plugin/mcp.json")),
    (
        "skills/mcp-web/SKILL.md",
        include_str!("templates/plugin/skills/mcp-web/SKILL.md"),
    ),
];

/// Writes the folder `plugin`.
pub(super) fn write(release: &mut ReleaseFolder) -> Result<()> {
    release.write("plugin/.claude-plugin/marketplace.json", fill(MARKETPLACE))?;
    for (path, text) in FILES {
        release.write(&format!("plugin/plugins/{NAME}/{path}"), fill(text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::release::product::VERSION;

    /// Without a version, and without `--prefer-offline`, a laptop without a network would wait for minutes.
    #[test]
    fn the_entry_names_the_version_and_needs_no_network() {
        let folder = tempfile::tempdir().unwrap();
        let mut release = ReleaseFolder::create(folder.path().join("release"), 0).unwrap();
        write(&mut release).unwrap();
        let json = |path: &str| -> Value {
            let text = fs::read_to_string(release.path().join("plugin").join(path)).unwrap();
            assert!(!text.replace("mcp-web@", "").contains('@'), "{text}");
            serde_json::from_str(&text).unwrap()
        };
        let entry = &json("plugins/mcp-web/.mcp.json")["mcpServers"]["mcp-web"];
        assert_eq!(
            entry["args"],
            json!([
                "-y",
                "--prefer-offline",
                format!("mcp-web@{VERSION}"),
                "stdio"
            ])
        );
        let marketplace = json(".claude-plugin/marketplace.json");
        assert_eq!(marketplace["plugins"][0]["source"], "./plugins/mcp-web");
        let plugin = json("plugins/mcp-web/.claude-plugin/plugin.json");
        assert_eq!(plugin["version"], VERSION);
    }
}
