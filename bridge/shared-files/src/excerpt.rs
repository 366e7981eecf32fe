//! Names from files of others in messages.

use bridge_protocol::invisible::visible_line;

/// The maximum length of a name in a message.
const MAX_EXCERPT_CHARS: usize = 40;

/// Returns the start of a name on one line, with its invisible characters shown.
pub fn excerpt(name: &str) -> String {
    let mut chars = name.chars();
    let start: String = chars.by_ref().take(MAX_EXCERPT_CHARS).collect();
    let mut excerpt = visible_line(&start).into_owned();
    if chars.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}
