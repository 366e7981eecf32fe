//! Values that only settings of the bridge have; the others are in `bridge_service::values`.

use bridge_service::values::parse_count;

/// The most bytes of the URI of an icon: each client hears it when it connects.
const MAX_ICON_BYTES: usize = 64 * 1024;

/// The URI of an icon (MCP 2025-11-25, "Icons").
pub(super) fn parse_icon(text: &str) -> Result<String, String> {
    let schemes = ["https://", "http://", "data:image/"];
    let is_icon = schemes.iter().any(|scheme| text.starts_with(scheme))
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text.len() <= MAX_ICON_BYTES;
    match is_icon {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "allowed are https://, http:// and data:image/ URIs of at most {MAX_ICON_BYTES} bytes"
        )),
    }
}

/// A result is held in memory several times on its way.
const MAX_RESULT_BYTES: usize = 1024 * 1024 * 1024;

pub(super) fn parse_result_bytes(text: &str) -> Result<usize, String> {
    match parse_count(text)? {
        bytes if bytes <= MAX_RESULT_BYTES => Ok(bytes),
        _ => Err(format!("allowed are 1 to {MAX_RESULT_BYTES}")),
    }
}
