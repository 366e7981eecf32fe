//! Dates and times as strict clients accept them: RFC 3339 with a capital `T`, seconds below 60, and
//! `Z` or an offset with a colon.

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, SecondsFormat, Timelike};

/// Forms without an offset, which are read as UTC.
const FORMS_WITHOUT_OFFSET: [&str; 4] = [
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
];

/// Returns the text if it is valid, and otherwise the same time in the form above. `None` if the
/// time is not certain.
pub(super) fn repair(text: &str) -> Option<String> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        // Two readings of a leap second exist: the one that strict clients accept is 59.
        let time = match time.nanosecond() {
            0..1_000_000_000 => time,
            _ => time.with_nanosecond(0)?,
        };
        let is_strict = text.as_bytes().get(10) == Some(&b'T')
            && !text.ends_with('z')
            && text.as_bytes().get(17..19) != Some(b"60");
        return if is_strict {
            Some(text.to_owned())
        } else {
            written(time)
        };
    }
    if let Ok(time) = DateTime::parse_from_rfc2822(text) {
        return written(time);
    }
    let with_offset = DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z").ok();
    if let Some(time) = with_offset {
        return written(time);
    }
    let date_and_time = FORMS_WITHOUT_OFFSET
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let time = date_and_time.or_else(|| date?.and_hms_opt(0, 0, 0))?;
    // chrono also reads fewer digits.
    let is_plain_year = text.as_bytes().get(4) == Some(&b'-');
    written(time.and_utc().fixed_offset()).filter(|_| is_plain_year)
}

/// The time in the form above. `None` if its year has not four digits.
fn written(time: DateTime<FixedOffset>) -> Option<String> {
    let is_plain_year = (0..=9999).contains(&time.year());
    is_plain_year.then(|| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_times_are_unchanged() {
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T12:00:00.123456Z",
            "2026-01-31T12:00:00+02:00",
            "2024-02-29T23:59:59-11:30",
        ] {
            assert_eq!(repair(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn times_in_another_certain_form_are_rewritten() {
        for (text, expected) in [
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("2026-01-31T12:00", "2026-01-31T12:00:00Z"),
            ("2026-01-31T12:00:05", "2026-01-31T12:00:05Z"),
            ("2026-01-31 12:00:05", "2026-01-31T12:00:05Z"),
            ("2026-01-31t12:00:05z", "2026-01-31T12:00:05Z"),
            ("2026-01-31 12:00:05Z", "2026-01-31T12:00:05Z"),
            ("2026-01-31T12:00:05.250", "2026-01-31T12:00:05.250Z"),
            ("2026-01-31T12:00:05+0200", "2026-01-31T12:00:05+02:00"),
            ("2026-12-31T23:59:60Z", "2026-12-31T23:59:59Z"),
            ("Sat, 31 Jan 2026 12:00:05 GMT", "2026-01-31T12:00:05Z"),
        ] {
            assert_eq!(repair(text).as_deref(), Some(expected), "{text}");
            assert_eq!(repair(expected).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_uncertain_time_has_no_repair() {
        for text in [
            "",
            "yesterday",
            "01/31/2026 12:00:05",
            "2026-02-30",
            "2026-01-31T25:00:00Z",
            "1769860805",
            "+12026-01-31",
            "+12026-01-31T12:00:05+0200",
            "-0001-01-31T12:00:05+0200",
            "Sat, 31 Jan 12026 12:00:05 GMT",
            "26-01-31",
            "Sat Jan 31 2026 12:00:05 GMT+0100 (CET)",
        ] {
            assert_eq!(repair(text), None, "{text}");
        }
    }
}
