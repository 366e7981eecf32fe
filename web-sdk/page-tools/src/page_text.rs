//! The text of a page for AI clients: header, nodes, note of omissions, footer.

use crate::changes::changes;
use crate::encode::quote;
use crate::limits::{Limits, MAX_AUTO_PAGE_BYTES, MAX_NAME_CHARS};
use crate::markdown;
use crate::node::Node;
use crate::outline::{Line, lines};
use crate::text::{decimal, join_text, one_line, split_at};

/// The bytes that are reserved for the lines after the nodes.
const FOOTER_BYTES: usize = 120;

/// The format of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Lines of YAML.
    #[default]
    Outline,
    /// Markdown with elements.
    Markdown,
}

/// The part of a page that is written after actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// The page if it is short or after a navigation, otherwise the changes.
    #[default]
    Auto,
    /// The page.
    Page,
    /// The changes.
    Changes,
    /// Nothing.
    None,
}

/// The identity of a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageInfo {
    /// The app's id of the page.
    pub page_id: String,
    /// The address, without the origin.
    pub url: Option<String>,
    /// The title.
    pub title: String,
}

/// A cleaned page at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The identity of the page.
    pub info: PageInfo,
    /// The elements and texts.
    pub nodes: Vec<Node>,
    /// The number of elements that the driver has only counted.
    pub uncounted: usize,
}

/// A text of a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageText {
    /// The text.
    pub text: String,
    /// The number of elements on the page.
    pub elements: usize,
    /// The number of them in the text.
    pub shown: usize,
}

impl PageText {
    /// Returns whether elements were left out.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.shown < self.elements
    }
}

/// Writes a page. `mark` is four or more hexadecimal digits that the page cannot predict.
#[must_use]
pub fn write_page(page: &Page, format: Format, mark: &str, limits: &Limits) -> PageText {
    let inside: usize = page.nodes.iter().map(Node::count_elements).sum();
    let elements = inside + page.uncounted;
    let mut text = header(&page.info, format, elements, mark);
    let budget = limits
        .max_page_bytes
        .saturating_sub(text.len() + FOOTER_BYTES);
    let left_out = match format {
        Format::Outline => write_lines(&mut text, &lines(&page.nodes), budget),
        Format::Markdown => markdown::write(&mut text, &page.nodes, budget),
    };
    let more = left_out + page.uncounted;
    write_footer(&mut text, more, format, mark);
    PageText {
        text,
        elements,
        shown: elements - more,
    }
}

/// Writes the differences from an earlier page, or the whole page if most of it differs.
#[must_use]
pub fn write_changes(before: &Page, after: &Page, mark: &str, limits: &Limits) -> Option<PageText> {
    if before.info.page_id != after.info.page_id {
        return None;
    }
    let elements = after.nodes.iter().map(Node::count_elements).sum::<usize>() + after.uncounted;
    let changes = changes(&lines(&before.nodes), &lines(&after.nodes))?;
    let mut text = header(&after.info, Format::Outline, elements, mark);
    if changes.is_empty() {
        text.push_str("(nothing changed in the page's text)\n");
    }
    let budget = limits
        .max_page_bytes
        .saturating_sub(text.len() + FOOTER_BYTES);
    let end = if changes.len() <= budget {
        changes.len()
    } else {
        let (fitting, _) = split_at(&changes, changes.floor_char_boundary(budget));
        fitting.rfind('\n').map_or(0, |end| end + 1)
    };
    let (shown, cut) = split_at(&changes, end);
    text.push_str(shown);
    if !cut.is_empty() {
        let lines = cut.lines().count();
        text.push_str(&join_text![
            "(",
            decimal(lines),
            " more lines: page_snapshot)\n"
        ]);
    }
    write_footer(&mut text, 0, Format::Outline, mark);
    Some(PageText {
        text,
        elements,
        shown: elements,
    })
}

/// Returns whether the view `auto` writes this page in full rather than its changes.
#[must_use]
pub fn is_short(text: &PageText) -> bool {
    text.text.len() <= MAX_AUTO_PAGE_BYTES
}

fn header(info: &PageInfo, format: Format, elements: usize, mark: &str) -> String {
    let title = one_line(&info.title, MAX_NAME_CHARS);
    let page_id = one_line(&info.page_id, MAX_NAME_CHARS);
    let url = one_line(info.url.as_ref().unwrap_or(&info.page_id), MAX_NAME_CHARS);
    match format {
        Format::Outline => join_text![
            "page ",
            quote(&title),
            " url=",
            quote(&url),
            " elements=",
            decimal(elements),
            " mark=",
            mark,
            "\n"
        ],
        Format::Markdown => join_text![
            "# ",
            markdown::escape(&title),
            "\nPage: ",
            markdown::escape(&page_id),
            "\n\n"
        ],
    }
}

fn write_footer(text: &mut String, more: usize, format: Format, mark: &str) {
    if more > 0 {
        let elements = if more == 1 { "element" } else { "elements" };
        text.push_str(&join_text![
            "(",
            decimal(more),
            " more ",
            elements,
            ": page_query, or page_snapshot within a ref)\n"
        ]);
    }
    text.push_str(match format {
        Format::Outline => "end of page ",
        Format::Markdown => "End of page ",
    });
    text.push_str(mark);
}

/// Writes lines up to a number of bytes. Returns how many elements were left out.
fn write_lines(text: &mut String, lines: &[Line], budget: usize) -> usize {
    let mut left = budget;
    for (index, line) in lines.iter().enumerate() {
        let indent = 2 * line.depth;
        let needed = line.byte_len(indent);
        if needed > left {
            return lines[index..].iter().filter(|line| line.is_element).count();
        }
        left -= needed;
        line.write(text, indent);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(count: usize) -> Page {
        let buttons = (1..=count).map(|number| Node {
            name: Some(format!("Button {number}")),
            reference: Some(format!("e{number}")),
            ..Node::new("button")
        });
        Page {
            info: PageInfo {
                page_id: "/orders/new".into(),
                url: None,
                title: "Orders".into(),
            },
            nodes: buttons.collect(),
            uncounted: 0,
        }
    }

    #[test]
    fn a_page_has_a_header_and_a_footer() {
        let text = write_page(&page(1), Format::Outline, "7f3a", &Limits::default());
        assert_eq!(
            text.text,
            "page \"Orders\" url=\"/orders/new\" elements=1 mark=7f3a\n- button \"Button 1\" [ref=e1]\nend of page 7f3a"
        );
        assert!(!text.is_truncated());
    }

    #[test]
    fn omitted_elements_are_counted() {
        let limits = Limits {
            max_page_bytes: 300,
            ..Limits::default()
        };
        let mut page = page(100);
        page.uncounted = 11;
        for format in [Format::Outline, Format::Markdown] {
            let text = write_page(&page, format, "7f3a", &limits);
            assert!(text.text.len() <= 300, "{}", text.text);
            assert_eq!(text.elements, 111);
            let more = format!("({} more elements: page_query", 111 - text.shown);
            assert!(text.shown > 0 && text.text.contains(&more), "{}", text.text);
        }
    }

    #[test]
    fn changes_are_cut_at_a_line() {
        let mut after = page(100);
        for node in after.nodes.iter_mut().take(40) {
            node.states = vec![crate::node::State::Disabled];
        }
        let limits = Limits {
            max_page_bytes: 500,
            ..Limits::default()
        };
        let text = write_changes(&page(100), &after, "7f3a", &limits).unwrap();
        assert!(text.text.len() <= 500);
        assert!(
            text.text
                .contains(" more lines: page_snapshot)\nend of page 7f3a"),
            "{}",
            text.text
        );
        let same = write_changes(&after, &after, "7f3a", &limits).unwrap();
        assert!(same.text.contains("(nothing changed"));
        after.info.page_id = "/other".into();
        assert_eq!(write_changes(&page(100), &after, "7f3a", &limits), None);
    }
}
