//! The prose of a file, in paragraphs: all text of a Markdown document, and the comments and names
//! of tests in source code.
//!
//! Comments are found line by line, without parsing the language: a comment begins at the start of
//! a line or after white space. The few strings that contain such a comment are read as one.

mod source_lines;

use source_lines::Syntax;

/// A paragraph, heading, list item or table cell, as one line of text.
#[derive(Debug)]
pub(super) struct Paragraph {
    text: String,
    /// Where the text of each line of the file begins: the offset in `text`, and the line's number.
    lines: Vec<(usize, usize)>,
    /// Whether a comment begins with this paragraph.
    pub(super) begins_comment: bool,
}

impl Paragraph {
    fn new(line: usize, text: &str) -> Self {
        Self {
            text: text.trim().to_owned(),
            lines: vec![(0, line)],
            begins_comment: false,
        }
    }

    fn push(&mut self, line: usize, text: &str) {
        self.text.push(' ');
        self.lines.push((self.text.len(), line));
        self.text.push_str(text.trim());
    }

    /// Returns the number of the line that contains the byte at `offset` of the text.
    pub(super) fn line(&self, offset: usize) -> usize {
        let following = self.lines.partition_point(|(start, _)| *start <= offset);
        self.lines[following.saturating_sub(1)].1
    }

    /// Returns the text, with `_` for each byte of code in backticks and of link addresses.
    pub(super) fn without_code(&self) -> String {
        let mut bytes = self.text.clone().into_bytes();
        for (start, end) in code_spans(&self.text).chain(link_addresses(&self.text)) {
            bytes[start..end].fill(b'_');
        }
        String::from_utf8(bytes).expect("whole characters were replaced")
    }

    /// Returns each piece of code in backticks, with the number of its line.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        code_spans(&self.text).map(|(start, end)| (self.line(start), self.text[start..end].trim()))
    }
}

/// Returns the paragraphs of a file. The extension of its name says which language it is in.
pub(super) fn paragraphs(name: &str, text: &str) -> Vec<Paragraph> {
    let extension = extension(name);
    if extension == "md" {
        return split(&(1..).zip(text.lines()).collect::<Vec<_>>());
    }
    let Some(syntax) = Syntax::from_extension(extension) else {
        return Vec::new();
    };
    let mut paragraphs = Vec::new();
    let mut comment: Vec<(usize, &str)> = Vec::new();
    let mut marker_before = None;
    for line in syntax.lines(text) {
        let marker = line.whole_comment().map(|(marker, _)| marker);
        if marker.is_none() || marker != marker_before {
            add_comment(&mut paragraphs, &mut comment);
        }
        paragraphs.extend(test_name(line.code).map(|name| Paragraph::new(line.number, &name)));
        comment.extend(line.comment.map(|(_, text)| (line.number, text)));
        marker_before = marker;
    }
    add_comment(&mut paragraphs, &mut comment);
    paragraphs
}

/// Returns a file of source code without its comments, and any other file unchanged.
pub(super) fn without_comments(name: &str, text: String) -> String {
    let Some(syntax) = Syntax::from_extension(extension(name)) else {
        return text;
    };
    let code: Vec<_> = syntax.lines(&text).iter().map(|line| line.code).collect();
    code.join("\n")
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn add_comment(paragraphs: &mut Vec<Paragraph>, comment: &mut Vec<(usize, &str)>) {
    let mut added = split(comment);
    if let Some(first) = added.first_mut() {
        first.begins_comment = true;
    }
    paragraphs.append(&mut added);
    comment.clear();
}

/// Returns the words of a test's name, if this line begins a test: a Rust function whose name has
/// at least four words, or a `test` of JavaScript.
fn test_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(function) = line
        .strip_prefix("async ")
        .unwrap_or(line)
        .strip_prefix("fn ")
    {
        let name = function.split('(').next()?.replace('_', " ");
        return (name.split(' ').count() >= 4).then_some(name);
    }
    let name = ["test(", "it(", "describe("]
        .iter()
        .find_map(|call| line.strip_prefix(call))?;
    let quote = name
        .chars()
        .next()
        .filter(|first| "\"'`".contains(*first))?;
    name[1..].split(quote).next().map(str::to_owned)
}

/// Splits Markdown into paragraphs, without its blocks of code.
fn split(lines: &[(usize, &str)]) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let mut is_code = false;
    let mut is_in_paragraph = false;
    for &(number, line) in lines {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
            is_in_paragraph = false;
        } else if is_code || line.is_empty() {
            is_in_paragraph = false;
        } else if line.starts_with('|') {
            let cells = line.trim_matches('|').split(" | ");
            paragraphs.extend(cells.map(|cell| Paragraph::new(number, cell)));
            is_in_paragraph = false;
        } else {
            match paragraphs.last_mut() {
                Some(last) if is_in_paragraph && !begins_paragraph(line) => last.push(number, line),
                _ => paragraphs.push(Paragraph::new(number, without_bullet(line))),
            }
            is_in_paragraph = !line.starts_with('#');
        }
    }
    paragraphs
}

/// Whether a line is a heading, a list item, or a tag of TSDoc such as `@param`.
fn begins_paragraph(line: &str) -> bool {
    line.starts_with('#') || line.starts_with('@') || without_bullet(line) != line
}

/// Removes what begins a heading, list item or quotation.
fn without_bullet(line: &str) -> &str {
    let marker = line.split(' ').next().unwrap_or_default();
    let is_number = marker.strip_suffix('.').is_some_and(|number| {
        !number.is_empty() && number.chars().all(|char| char.is_ascii_digit())
    });
    let is_heading = !marker.is_empty() && marker.chars().all(|char| char == '#');
    if is_number || is_heading || matches!(marker, "-" | "*" | ">") {
        return line[marker.len()..].trim_start();
    }
    line
}

/// Returns where code in backticks begins and ends: between equally long runs of backticks.
fn code_spans(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text[from..].find('`')?;
            let quote = &text[start..start + run_of_backticks(&text[start..])];
            let inside = start + quote.len();
            let Some(end) = end_of_code(&text[inside..], quote) else {
                from = inside;
                continue;
            };
            from = inside + end + quote.len();
            return Some((inside, inside + end));
        }
    })
}

/// Returns where the next run of backticks is that is as long as `quote`.
fn end_of_code(text: &str, quote: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find('`')?;
        let length = run_of_backticks(&text[at..]);
        if length == quote.len() {
            return Some(at);
        }
        from = at + length;
    }
}

fn run_of_backticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Returns where the addresses of links begin and end.
fn link_addresses(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.match_indices("](").filter_map(|(at, begin)| {
        let start = at + begin.len();
        let end = text[start..].find(')')?;
        Some((start, start + end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str, text: &str) -> Vec<(usize, String)> {
        paragraphs(name, text)
            .iter()
            .map(|paragraph| (paragraph.line(0), paragraph.without_code()))
            .collect()
    }

    #[test]
    fn a_document_is_split_into_paragraphs_items_and_cells_without_code() {
        let document = "# Title\nOne\n`code` two [three](four).\n- item\n  of two lines\n\n\
            ```\nno text\n```\n| a | b |\n1. last";
        let expected = [
            (1, "Title"),
            (2, "One `____` two [three](____)."),
            (4, "item of two lines"),
            (10, "a"),
            (10, "b"),
            (11, "last"),
        ];
        assert_eq!(
            texts("a.md", document),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
    }

    #[test]
    fn comments_and_names_of_tests_are_found_in_source_code() {
        let rust = "//! Module.\n//! More.\n\n/// Item.\nfn a_test_with_five_words() {\n\
            let url = \"http://host\"; \u{2f}/ Trailing.\n    // Own.\n}";
        let expected = [
            (1, "Module. More."),
            (4, "Item."),
            (5, "a test with five words"),
            (6, "Trailing."),
            (7, "Own."),
        ];
        assert_eq!(
            texts("a.rs", rust),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
        let typescript = "/**\n * One\n * two.\n *\n * @param a Three.\n */\ntest(\"four\", f);";
        let expected = [(2, "One two."), (5, "@param a Three."), (7, "four")];
        assert_eq!(
            texts("a.ts", typescript),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
        let python = "\"\"\"One.\"\"\"\nx = 1  # Two.";
        let expected = [(1, "One."), (2, "Two.")];
        assert_eq!(
            texts("a.py", python),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
    }

    #[test]
    fn the_line_of_each_part_of_a_paragraph_is_known() {
        let paragraphs = paragraphs("a.md", "one\n`two` ``a`b``\nthree");
        let three = paragraphs[0].without_code().find("three").unwrap();
        assert_eq!(paragraphs[0].line(three), 3);
        assert_eq!(
            paragraphs[0].code().collect::<Vec<_>>(),
            [(2, "two"), (2, "a`b")]
        );
    }

    #[test]
    fn code_is_returned_without_its_comments() {
        let code = without_comments("a.rs", "use a; \u{2f}/ b\n/* c\nd */\nuse e;".to_owned());
        assert_eq!(code, "use a; \n\n\nuse e;");
    }
}
