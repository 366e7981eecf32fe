//! Finds the differences between two outlines.

use crate::outline::{Line, path};
use crate::text::join_text;

/// Maximum number of pairs of lines to compare. Beyond it, the whole page is written.
const MAX_PAIRS: usize = 4_000_000;

/// Returns the differences, or `None` if more than half of the lines differ: then the whole page is
/// more useful.
///
/// Each group of changed lines begins with its location: `@ main > form "Order"`. Then come the old
/// lines with `- ` and the new lines with `+ `.
#[must_use]
pub fn changes(before: &[Line], after: &[Line]) -> Option<String> {
    let is_equal = |(old, new): &(&Line, &Line)| old.text == new.text && old.depth == new.depth;
    let start = before.iter().zip(after).take_while(is_equal).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(is_equal)
        .count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        return None;
    }
    let edits = edits(old, new);
    let changed = edits
        .iter()
        .filter(|edit| !matches!(edit, Edit::Same))
        .count();
    if 2 * changed > before.len() + after.len() {
        return None;
    }
    let mut out = String::new();
    let (mut old_index, mut new_index) = (start, start);
    // The location of the group of lines and the depth of its first line; the start of the run of
    // changed lines.
    let mut group: Option<(String, usize)> = None;
    let mut run_start = (start, start);
    for edit in edits {
        let (lines, line, sign, first) = match edit {
            Edit::Same => {
                old_index += 1;
                new_index += 1;
                run_start = (old_index, new_index);
                continue;
            }
            Edit::Removed => (before, &before[old_index], "- ", run_start.0),
            Edit::Added => (after, &after[new_index], "+ ", run_start.1),
        };
        let is_inside = line.parent.is_some_and(|parent| parent >= first);
        if !is_inside || group.is_none() {
            let place = path(lines, line);
            if group.as_ref().is_none_or(|(last, _)| *last != place) {
                out.push_str(&join_text!["@ ", place, "\n"]);
            }
            group = Some((place, line.depth));
        }
        let base = group.as_ref().map_or(0, |(_, depth)| *depth);
        let indent = 2 * line.depth.saturating_sub(base);
        for (number, part) in line.text.split('\n').enumerate() {
            out.push_str(sign);
            out.extend(std::iter::repeat_n(' ', indent));
            // The sign replaces the hyphen of the list.
            out.push_str(if number == 0 {
                part.strip_prefix("- ").unwrap_or(part)
            } else {
                part
            });
            out.push('\n');
        }
        old_index += usize::from(edit == Edit::Removed);
        new_index += usize::from(edit == Edit::Added);
    }
    Some(out)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Edit {
    Same,
    Removed,
    Added,
}

/// Returns the fewest edits between two lists, by their longest common subsequence.
fn edits(old: &[Line], new: &[Line]) -> Vec<Edit> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for (row, old_line) in old.iter().enumerate().rev() {
        for (column, new_line) in new.iter().enumerate().rev() {
            lengths[row * width + column] = if is_same(old_line, new_line) {
                lengths[(row + 1) * width + column + 1] + 1
            } else {
                lengths[(row + 1) * width + column].max(lengths[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut edits = Vec::with_capacity(old.len() + new.len());
    while row < old.len() || column < new.len() {
        let edit = match (old.get(row), new.get(column)) {
            (Some(old_line), Some(new_line)) if is_same(old_line, new_line) => Edit::Same,
            (Some(_), None) => Edit::Removed,
            (None, _) => Edit::Added,
            (Some(_), Some(_)) => {
                let without_old = lengths[(row + 1) * width + column];
                let without_new = lengths[row * width + column + 1];
                if without_old >= without_new {
                    Edit::Removed
                } else {
                    Edit::Added
                }
            }
        };
        row += usize::from(edit != Edit::Added);
        column += usize::from(edit != Edit::Removed);
        edits.push(edit);
    }
    edits
}

fn is_same(old: &Line, new: &Line) -> bool {
    old.depth == new.depth && old.text == new.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Node, NodeValue};
    use crate::outline::lines;

    fn form(values: &[(&str, &str)]) -> Vec<Line> {
        let controls = values.iter().map(|(name, value)| Node {
            name: Some((*name).into()),
            value: Some(NodeValue::One((*value).into())),
            ..Node::new("textbox")
        });
        let form = Node {
            name: Some("Order".into()),
            children: controls.collect(),
            ..Node::new("form")
        };
        let main = Node {
            children: vec![form],
            ..Node::new("main")
        };
        lines(&[main])
    }

    #[test]
    fn a_change_has_its_location() {
        let before = form(&[("A", ""), ("B", ""), ("C", "")]);
        let after = form(&[("A", ""), ("B", "x"), ("C", "")]);
        assert_eq!(
            changes(&before, &after).unwrap(),
            "@ main > form \"Order\"\n- textbox \"B\": \"\"\n+ textbox \"B\": \"x\"\n"
        );
    }

    #[test]
    fn the_content_of_a_new_element_is_indented() {
        let before = form(&[("A", ""), ("B", "")]);
        let mut nodes = vec![Node::new("alert")];
        nodes[0].children = vec![Node::new_text("a"), Node::new("separator")];
        let mut after = before.clone();
        for mut line in lines(&nodes) {
            line.depth += 2;
            line.parent = Some(line.parent.map_or(1, |parent| parent + after.len()));
            after.push(line);
        }
        assert_eq!(
            changes(&before, &after).unwrap(),
            "@ main > form \"Order\"\n+ alert:\n+   text: a\n+   separator\n"
        );
    }

    #[test]
    fn equal_pages_have_no_changes() {
        let page = form(&[("A", "")]);
        assert_eq!(changes(&page, &page).unwrap(), "");
    }

    #[test]
    fn a_different_page_is_not_written_as_changes() {
        let before = form(&[("A", ""), ("B", "")]);
        assert_eq!(
            changes(&before, &lines(&[Node::new("main"), Node::new("alert")])),
            None
        );
        assert_eq!(changes(&[], &before), None);
    }
}
