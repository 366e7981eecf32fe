//! The settings that describe the bridge to MCP clients: its name, its description and its icon.

use clap::Args;
use serde_json::{Value, json};

const DEFAULT_NAME: &str = "mcp-web";

const DEFAULT_DESCRIPTION: &str = "Lets AI clients use web apps through the apps' own tools.";

/// The maximum size of the URI of an icon, which is sent to each client that connects.
const MAX_ICON_BYTES: usize = 64 * 1024;

/// Settings that describe the bridge to MCP clients.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Bridge")]
pub struct BridgeInfo {
    /// Name that MCP clients see.
    #[arg(
        long,
        env = "MCP_WEB_NAME",
        value_name = "NAME",
        default_value = DEFAULT_NAME
    )]
    pub name: String,

    /// Purpose of this bridge, in a sentence that MCP clients may show.
    #[arg(
        long,
        env = "MCP_WEB_DESCRIPTION",
        value_name = "TEXT",
        default_value = DEFAULT_DESCRIPTION
    )]
    pub description: String,

    /// Icon that MCP clients may show: an `https:` or `http:` address, or a `data:image/…` URI of at
    /// most 64 KiB.
    #[arg(long, env = "MCP_WEB_ICON", value_name = "URI", value_parser = parse_icon)]
    pub icon: Option<String>,
}

/// Parses the URI of an icon (MCP 2025-11-25, "Icons").
fn parse_icon(text: &str) -> Result<String, String> {
    let schemes = ["https://", "http://", "data:image/"];
    let is_icon = schemes.iter().any(|scheme| text.starts_with(scheme))
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text.len() <= MAX_ICON_BYTES;
    if !is_icon {
        return Err(format!(
            "allowed are https://, http:// and data:image/ URIs of at most {MAX_ICON_BYTES} bytes"
        ));
    }
    Ok(text.to_owned())
}

impl BridgeInfo {
    /// Returns the name, description, version and icon, as clients see them.
    pub(crate) fn to_json(&self) -> Value {
        let mut info = json!({
            "name": self.name,
            "description": self.description,
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(icon) = &self.icon {
            info["icon"] = icon.as_str().into();
            info["icons"] = json!([{ "src": icon }]);
        }
        info
    }
}

impl Default for BridgeInfo {
    fn default() -> Self {
        Self {
            name: DEFAULT_NAME.to_owned(),
            description: DEFAULT_DESCRIPTION.to_owned(),
            icon: None,
        }
    }
}
