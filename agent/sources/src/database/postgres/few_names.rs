//! Names in a warning.

/// How many names a warning has.
const MAX_WARNING_NAMES: usize = 5;

/// Returns the first of some names, and how many others there are.
pub(super) fn few_names(names: &[String]) -> String {
    let shown = names.iter().take(MAX_WARNING_NAMES);
    let shown: Vec<_> = shown.map(|name| format!("`{name}`")).collect();
    let more = match names.len().saturating_sub(MAX_WARNING_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_has_five_names() {
        let names: Vec<_> = (1..=7).map(|number| format!("t{number}")).collect();
        assert_eq!(few_names(&names[..2]), "`t1`, `t2`");
        assert_eq!(few_names(&names), "`t1`, `t2`, `t3`, `t4`, `t5` and 2 more");
    }
}
