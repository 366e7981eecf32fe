//! Pictures and files in the input of a model.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bridge_protocol::invisible::visible_line;
use mediatype::MediaType;

/// A picture or a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Media {
    /// The name of the file, if it has one.
    pub name: Option<String>,
    /// The media type in lower case, without parameters.
    pub mime_type: String,
    /// The content as base64.
    pub data: Arc<str>,
}

/// The size that a picture counts as input, in bytes of text. Providers count about 1,500 tokens
/// for one of the size that pages send.
const PICTURE_INPUT_BYTES: usize = 6 * 1024;

/// Returns a media type in lower case without its parameters (RFC 9110 section 8.3.1), such as
/// `charset=utf-8`; `None` if the text is not a media type.
pub fn essence(mime_type: &str) -> Option<String> {
    let mime_type = MediaType::parse(mime_type.trim()).ok()?;
    Some(mime_type.essence().to_string().to_ascii_lowercase())
}

impl Media {
    /// Returns whether it is a picture.
    pub fn is_picture(&self) -> bool {
        self.mime_type.starts_with("image/")
    }

    /// Returns whether the content begins as its type requires, as far as the type is a known one.
    /// Providers refuse requests with other content.
    pub fn has_content_of_its_type(&self) -> bool {
        // 16 characters of base64 are 12 bytes.
        let beginning = self.data.get(..self.data.len().min(16) / 4 * 4);
        let beginning = beginning.and_then(|it| STANDARD.decode(it).ok());
        let beginning = beginning.unwrap_or_default();
        match self.mime_type.as_str() {
            "image/png" => beginning.starts_with(b"\x89PNG\r\n\x1a\n"),
            "image/jpeg" => beginning.starts_with(b"\xff\xd8\xff"),
            "image/gif" => beginning.starts_with(b"GIF8"),
            "image/webp" => beginning.starts_with(b"RIFF") && beginning.ends_with(b"WEBP"),
            "application/pdf" => beginning.starts_with(b"%PDF-"),
            _ => true,
        }
    }

    /// Returns the size as input of a model, in bytes of text.
    pub fn input_bytes(&self) -> usize {
        if self.is_picture() {
            PICTURE_INPUT_BYTES
        } else {
            decoded_bytes(&self.data)
        }
    }

    /// Describes the content for a model that does not get it: its name, its type and its decoded
    /// size.
    pub fn describe(&self) -> String {
        let size = match decoded_bytes(&self.data) {
            bytes @ 0..1000 => format!("{bytes} bytes"),
            bytes => format!("{} kB", bytes.div_ceil(1000)),
        };
        let name = self.name.iter().map(|name| format!("{name}, "));
        let name: String = name.collect();
        visible_line(&format!("{name}{}, {size}", self.mime_type)).into_owned()
    }
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Media({})", self.describe())
    }
}

fn decoded_bytes(base64: &str) -> usize {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=');
    (base64.len() / 4 * 3).saturating_sub(padding.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_has_no_parameters() {
        for (mime_type, expected) in [
            ("image/png", Some("image/png")),
            ("Image/SVG+XML", Some("image/svg+xml")),
            ("text/plain; charset=utf-8", Some("text/plain")),
            ("text/plain ;charset=utf-8", Some("text/plain")),
            ("png", None),
            ("", None),
            ("image/p ng", None),
        ] {
            assert_eq!(essence(mime_type).as_deref(), expected, "{mime_type}");
        }
    }

    #[test]
    fn content_begins_as_its_type_requires() {
        for (mime_type, data, expected) in [
            ("image/png", "iVBORw0KGgoAAAAN", true),
            ("image/png", "AAAA", false),
            ("image/png", "", false),
            ("image/png", "iVBORw0KGg", false),
            ("image/jpeg", "/9j/4AAQSkZJRgAB", true),
            ("image/gif", "R0lGODlhAQABAAAA", true),
            ("image/webp", "UklGRiIAAABXRUJQ", true),
            ("image/webp", "UklGRiIAAABXQVZF", false),
            ("application/pdf", "JVBERi0xLjcK", true),
            ("application/pdf", "PGh0bWw+", false),
            ("audio/wav", "AAAA", true),
        ] {
            let media = Media {
                name: None,
                mime_type: mime_type.to_owned(),
                data: data.into(),
            };
            assert_eq!(
                media.has_content_of_its_type(),
                expected,
                "{mime_type} {data}"
            );
        }
    }

    #[test]
    fn content_is_described_by_name_type_and_size() {
        let media = |name: Option<&str>, data: String| Media {
            name: name.map(str::to_owned),
            mime_type: "image/png".to_owned(),
            data: data.into(),
        };
        assert_eq!(
            media(Some("a\n[b"), "AAAA".to_owned()).describe(),
            r"a\u{a}[b, image/png, 3 bytes"
        );
        assert_eq!(
            media(None, "AAAAAA==".to_owned()).describe(),
            "image/png, 4 bytes"
        );
        let large = media(Some("board.png"), "AAAA".repeat(4000));
        assert_eq!(format!("{large:?}"), "Media(board.png, image/png, 12 kB)");
        assert_eq!(large.input_bytes(), PICTURE_INPUT_BYTES);
    }
}
