//! The results of the pages' tools.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use serde_json::json;

/// The result of a tool: its size in bytes of JSON, and its kind.
///
/// ```
/// use e2e::load::Payload;
///
/// let rows: Payload = "1kb".parse().unwrap();
/// assert_eq!(rows.json().len(), 1_000);
/// assert!(rows.json().starts_with("{\"rows\":[{"));
/// let text: Payload = "100kb-text".parse().unwrap();
/// assert_eq!(text.json().len(), 100_000);
/// assert!(text.json().starts_with('"'));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    kind: PayloadKind,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PayloadKind {
    /// An object with many small rows.
    Rows,
    /// A string with lines of text, some of whose characters must be escaped.
    Text,
}

impl Payload {
    /// Returns the JSON, which has exactly this size and is always the same.
    pub fn json(self) -> String {
        match self.kind {
            PayloadKind::Rows => self.rows(),
            PayloadKind::Text => self.text(),
        }
    }

    fn rows(self) -> String {
        let (open, close) = ("{\"rows\":[", "],\"pad\":\"\"}");
        let mut json = open.to_owned();
        for id in 1_000_000.. {
            let row = json!({ "id": id, "name": format!("row {id}"), "done": false }).to_string();
            if json.len() + row.len() + 1 + close.len() > self.bytes {
                break;
            }
            json.push_str(&row);
            json.push(',');
        }
        json.pop();
        let pad = "x".repeat(self.bytes - json.len() - close.len());
        json.push_str(&close.replace("\"\"", &format!("\"{pad}\"")));
        json
    }

    fn text(self) -> String {
        const LINE: &str =
            r#"A page said \"hello\" to the na\\ïve world: it is 20 °C, and no cloud.\n"#;
        let capacity = self.bytes - 2;
        let lines = LINE.repeat(capacity / LINE.len());
        let pad = "x".repeat(capacity - lines.len());
        format!("\"{lines}{pad}\"")
    }
}

impl FromStr for Payload {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (size, kind) = text.split_once('-').unwrap_or((text, "rows"));
        let kind = match kind {
            "rows" => PayloadKind::Rows,
            "text" => PayloadKind::Text,
            _ => bail!("the kind of a result is `rows` or `text`, not `{kind}`"),
        };
        let (digits, unit) = match (size.strip_suffix("kb"), size.strip_suffix("mb")) {
            (Some(digits), _) => (digits, 1_000),
            (_, Some(digits)) => (digits, 1_000_000),
            _ => bail!("the size of a result is written like `1kb` or `10mb`, not `{size}`"),
        };
        let digits: usize = digits.parse().with_context(|| format!("`{size}`"))?;
        if digits == 0 {
            bail!("a result has at least 1 kb");
        }
        Ok(Self {
            kind,
            bytes: digits * unit,
        })
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            PayloadKind::Rows => "rows",
            PayloadKind::Text => "text",
        };
        match self.bytes {
            bytes if bytes.is_multiple_of(1_000_000) => write!(f, "{}mb-{kind}", bytes / 1_000_000),
            bytes => write!(f, "{}kb-{kind}", bytes / 1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn payloads_are_compact_json_of_the_requested_size() {
        for (name, bytes) in [("1kb", 1_000), ("1kb-text", 1_000), ("3mb-rows", 3_000_000)] {
            let payload: Payload = name.parse().unwrap();
            let json = payload.json();
            assert_eq!(json.len(), bytes, "{payload}");
            let value: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(value.to_string(), json);
        }
    }

    #[test]
    fn invalid_payloads_are_rejected_with_a_reason() {
        for (wrong, why) in [
            ("1gb", "like `1kb`"),
            ("0kb", "at least"),
            ("1kb-x", "`rows`"),
        ] {
            let error = wrong.parse::<Payload>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
