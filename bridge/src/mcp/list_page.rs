//! The page of a list that a client receives if it cannot read the whole list in one message (MCP,
//! "Pagination").

use bridge_mcp_results::encoded_size::ENVELOPE_BYTES;
use serde_json::Value;

/// The entries of a list that fit into one message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListPage<T> {
    pub(super) entries: Vec<T>,
    /// The cursor for the entries after these, if there are any.
    pub(super) next_cursor: Option<String>,
}

impl<T> ListPage<T> {
    /// Returns the page that begins at `cursor`, which is the number of the entries before it. An
    /// entry that would not fit into any message is left out, with a warning. Without a limit, all
    /// entries are on the first page.
    pub(super) fn new(
        entries: Vec<T>,
        cursor: Option<&str>,
        max_bytes: Option<usize>,
        encoded_len: impl Fn(&T) -> usize,
        to_json: impl Fn(&T) -> serde_json::Result<Value>,
    ) -> Self {
        let Some(max_bytes) = max_bytes else {
            return Self {
                entries,
                next_cursor: None,
            };
        };
        let capacity = max_bytes.saturating_sub(ENVELOPE_BYTES);
        let start = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let (mut page, mut bytes) = (Vec::new(), 0);
        for (index, entry) in entries.into_iter().enumerate().skip(start) {
            let len = encoded_len(&entry) + ",".len();
            if len > capacity {
                let json = to_json(&entry).unwrap_or_default();
                tracing::warn!(
                    "left {} out of a list, because it has {len} bytes and messages to this client \
                     have at most {max_bytes}: shorten its description or its schema, or give the \
                     client a profile with a larger `max_result_bytes`",
                    json["name"]
                );
                continue;
            }
            if bytes + len > capacity {
                return Self {
                    entries: page,
                    next_cursor: Some(index.to_string()),
                };
            }
            bytes += len;
            page.push(entry);
        }
        Self {
            entries: page,
            next_cursor: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(sizes: &[usize], cursor: Option<&str>, max_bytes: Option<usize>) -> ListPage<usize> {
        let to_json = |size: &usize| serde_json::to_value(size);
        ListPage::new(sizes.to_vec(), cursor, max_bytes, |size| *size, to_json)
    }

    fn pages(sizes: &[usize], max_bytes: Option<usize>) -> Vec<Vec<usize>> {
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let page = page(sizes, cursor.as_deref(), max_bytes);
            pages.push(page.entries);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn every_entry_that_fits_is_on_one_page() {
        let max_bytes = Some(ENVELOPE_BYTES + 100);
        for (sizes, expected) in [
            (vec![], vec![vec![]]),
            (vec![49, 49, 49], vec![vec![49, 49], vec![49]]),
            (vec![99, 99], vec![vec![99], vec![99]]),
            (vec![1, 100, 2, 98], vec![vec![1, 2], vec![98]]),
            (vec![100], vec![vec![]]),
        ] {
            assert_eq!(pages(&sizes, max_bytes), expected);
            assert_eq!(pages(&sizes, None), [sizes]);
        }
    }

    #[test]
    fn an_unknown_cursor_begins_the_list_and_an_old_one_may_be_its_end() {
        let page = |cursor| page(&[1, 2], Some(cursor), Some(5_000));
        assert_eq!(page("x").entries, [1, 2]);
        assert_eq!(page("1").entries, [2]);
        assert!(page("7").entries.is_empty());
    }
}
