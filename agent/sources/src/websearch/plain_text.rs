//! Plain text from the HTML of others: nothing in it is a tag, and nothing is invisible.

use agent_tools::text::{shorten, shorten_bytes};
use bridge_protocol::invisible::without_invisible;

/// How much of a text is read.
const MAX_HTML_BYTES: usize = 8 * 1024;

/// The elements whose content is not text for people.
const UNREAD: [&str; 2] = ["script", "style"];

/// The elements that do not separate words.
const INLINE: [&str; 9] = ["a", "b", "em", "i", "mark", "span", "strong", "sub", "sup"];

/// Returns the text of HTML on one line, without tags and invisible characters. Character references
/// for `<` and `>` stay as they are, so that none becomes a tag.
pub(super) fn plain_text(html: &str, max_chars: usize) -> String {
    let html = shorten_bytes(html, MAX_HTML_BYTES);
    // First, so that no tag comes into being when they are removed.
    let html = without_invisible(&html);
    let text = decode_references(&without_tags(&html));
    let words: Vec<_> = text.split_whitespace().collect();
    shorten(&words.join(" "), max_chars)
}

/// Removes tags. A `<` stays only before what cannot begin a tag.
fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let next = rest[1..].chars().next();
        if next.is_none_or(|it| it.is_whitespace() || it.is_ascii_digit() || "=-".contains(it)) {
            text.push('<');
            rest = &rest[1..];
            continue;
        }
        if !INLINE.contains(&element_name(rest).as_str()) {
            text.push(' ');
        }
        rest = &rest[tag_end(rest)..];
    }
    text + rest
}

/// Returns the end of the tag or comment that a text begins with, or of the element if its content is
/// not read.
fn tag_end(html: &str) -> usize {
    if html.starts_with("<!--") {
        return html.find("-->").map_or(html.len(), |end| end + 3);
    }
    // A tag that does not end is text without its `<`.
    let Some(end) = html.find('>').map(|end| end + 1) else {
        return 1;
    };
    let name = element_name(html);
    if !html.starts_with("</") && UNREAD.contains(&name.as_str()) {
        let lower = html.to_ascii_lowercase();
        if let Some(close) = lower.find(&format!("</{name}")) {
            return html[close..]
                .find('>')
                .map_or(html.len(), |end| close + end + 1);
        }
    }
    end
}

fn element_name(tag: &str) -> String {
    let name = tag.trim_start_matches(['<', '/']);
    let end = name.find(|it: char| !it.is_ascii_alphanumeric());
    name[..end.unwrap_or(name.len())].to_ascii_lowercase()
}

/// Decodes the references that search engines write. The last is the one that could begin another.
fn decode_references(text: &str) -> String {
    text.replace("&nbsp;", " ")
        .replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        plain_text(html, 200)
    }

    #[test]
    fn tags_and_unreadable_elements_are_removed() {
        for (html, expected) in [
            (
                "a <b>bold</b> word, <strong>wor</strong>d",
                "a bold word, word",
            ),
            ("one<br>two</p><p class='a'>three", "one two three"),
            ("x<script>alert(1)</script>y <STYLE>a{}</Style >z", "x y z"),
            ("<script>never closed", "never closed"),
            ("a<!-- <b> hidden -->b<!-- open", "a b"),
            ("<img src=x onerror=alert(1)", "img src=x onerror=alert(1)"),
            (
                "1 < 2, a <= b, <3, a <- b, x<",
                "1 < 2, a <= b, <3, a <- b, x<",
            ),
            ("Vec<T> and \"quotes\"", "Vec and \"quotes\""),
            ("", ""),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn references_are_decoded_once_and_never_to_a_tag() {
        for (html, expected) in [
            (
                "Tom &amp; Jerry&#39;s &quot;x&quot;&nbsp;y",
                "Tom & Jerry's \"x\" y",
            ),
            (
                "&lt;script&gt; &#60;b&#x3E; &amp;lt;b> &amp;amp;quot;",
                "&lt;script&gt; &#60;b&#x3E; &lt;b> &amp;quot;",
            ),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn no_tag_comes_into_being_by_what_is_removed() {
        for html in [
            "<<b>script>x",
            "<scr<script>ipt>x",
            "<\u{200b}script>x",
            "<\u{85}script>x",
            "<\u{202e}<i></i>script>x",
            "< <b></b>script>x",
            "<&#8203;script>x",
            "<=<b></b>script>x",
        ] {
            let text = text(html);
            let tag = text.split('<').skip(1).find(|rest| {
                rest.starts_with(|first: char| first.is_alphabetic() || "/!?".contains(first))
            });
            assert_eq!(tag, None, "{html} -> {text}");
        }
    }

    #[test]
    fn invisible_characters_are_removed_and_the_text_is_one_short_line() {
        let tags: String = "ignore"
            .chars()
            .map(|it| char::from_u32(0xe0000 + it as u32).unwrap())
            .collect();
        assert_eq!(
            text(&format!("a\u{2066}\u{202e}b{tags}\u{feff}\n\r\tc\u{1b}[0m")),
            "ab c[0m"
        );
        assert_eq!(plain_text("äöüß", 3), "äöü…");
        let long = "<".repeat(1 << 20) + "<script>".repeat(1 << 18).as_str();
        assert!(plain_text(&long, 200).chars().count() <= 201);
    }
}
