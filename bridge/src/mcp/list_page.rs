//! The page of a list that a client receives if it cannot read the whole list in one message (MCP,
//! "Pagination").

use bridge_edge::ClientAddress;
use bridge_mcp_results::encoded_size::ENVELOPE_BYTES;

use crate::budget::{RefusalKind, RefusalLog};

/// The maximum length of a name in the log.
const MAX_NAME_CHARS: usize = 40;

/// The entries of a list that fit into one message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListPage<T> {
    pub(super) entries: Vec<T>,
    /// The cursor for the entries after these, if there are any.
    pub(super) next_cursor: Option<String>,
    /// The entries that would not fit into any message, if there are any.
    pub(super) left_out: Option<LeftOutEntries>,
}

/// The entries that are missing in a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftOutEntries {
    count: usize,
    /// The name of the first, which may be truncated.
    first: String,
    /// The maximum size of a message.
    max_bytes: usize,
}

impl LeftOutEntries {
    /// Logs the entries, unless others were logged recently.
    pub(super) fn record(&self, log: &RefusalLog, address: ClientAddress) {
        let Self {
            count,
            first,
            max_bytes,
        } = self;
        let reason = format!(
            "left {count} out of a list, first `{first}`: messages to this client have at most \
             {max_bytes} bytes; shorten descriptions and schemas, or give the client a profile with \
             a larger `max_result_bytes`"
        );
        log.record(RefusalKind::MaxStdioMessageBytes, address, "/mcp", &reason);
    }
}

impl<T> ListPage<T> {
    /// Returns the page that begins at `cursor`, which is the number of the entries before it. Without
    /// a limit, all entries are on the first page.
    pub(super) fn new(
        entries: Vec<T>,
        cursor: Option<&str>,
        max_bytes: Option<usize>,
        encoded_len: impl Fn(&T) -> usize,
        name: impl Fn(&T) -> &str,
    ) -> Self {
        let Some(max_bytes) = max_bytes else {
            return Self {
                entries,
                next_cursor: None,
                left_out: None,
            };
        };
        let capacity = max_bytes.saturating_sub(ENVELOPE_BYTES);
        let start = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let (mut page, mut bytes) = (Vec::new(), 0);
        let (mut next_cursor, mut left_out) = (None, None);
        for (index, entry) in entries.into_iter().enumerate().skip(start) {
            let len = encoded_len(&entry) + ",".len();
            if len > capacity {
                let left_out = left_out.get_or_insert_with(|| LeftOutEntries {
                    count: 0,
                    first: name(&entry).chars().take(MAX_NAME_CHARS).collect(),
                    max_bytes,
                });
                left_out.count += 1;
                continue;
            }
            if bytes + len > capacity {
                next_cursor = Some(index.to_string());
                break;
            }
            bytes += len;
            page.push(entry);
        }
        Self {
            entries: page,
            next_cursor,
            left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "a";

    fn page(sizes: &[usize], cursor: Option<&str>, max_bytes: Option<usize>) -> ListPage<usize> {
        ListPage::new(sizes.to_vec(), cursor, max_bytes, |size| *size, |_| NAME)
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
    fn entries_that_fit_into_no_message_are_counted() {
        let max_bytes = ENVELOPE_BYTES + 100;
        for (sizes, count) in [(vec![99], 0), (vec![100], 1), (vec![100, 1, 200], 2)] {
            let left_out = page(&sizes, None, Some(max_bytes)).left_out;
            let expected = (count > 0).then(|| LeftOutEntries {
                count,
                first: NAME.to_owned(),
                max_bytes,
            });
            assert_eq!(left_out, expected, "{sizes:?}");
            assert_eq!(page(&sizes, None, None).left_out, None);
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
