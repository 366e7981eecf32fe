//! Parsers for values that only the bridge has; the others are in `bridge_settings::values`.

use bridge_settings::values::parse_count;

/// The maximum size of the URI of an icon, which is sent to each client that connects.
const MAX_ICON_BYTES: usize = 64 * 1024;

/// Parses the URI of an icon (MCP 2025-11-25, "Icons").
pub(super) fn parse_icon(text: &str) -> Result<String, String> {
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

/// The maximum of `max_result_bytes`. Several copies of a result can be in memory at a time.
const MAX_RESULT_BYTES: usize = 1024 * 1024 * 1024;

pub(super) fn parse_result_bytes(text: &str) -> Result<usize, String> {
    match parse_count(text)? {
        bytes if bytes <= MAX_RESULT_BYTES => Ok(bytes),
        _ => Err(format!("allowed are 1 to {MAX_RESULT_BYTES}")),
    }
}
