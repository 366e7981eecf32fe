//! Text formatting without `format!`, whose code would be a noticeable part of the download.

/// Formats a number in decimal.
pub(super) fn decimal(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    digits
        .iter()
        .rev()
        .map(|digit| char::from(*digit))
        .collect()
}

/// Formats the error for `subject`, which is larger than allowed, with what to do.
pub(super) fn size_error(subject: &str, bytes: usize, max_bytes: usize, remedy: &str) -> String {
    [
        subject,
        " has ",
        &decimal(bytes as u64),
        " bytes; at most ",
        &decimal(max_bytes as u64),
        " are allowed: ",
        remedy,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_like_the_standard_library() {
        for number in [0, 7, 10, 1_790_000_000_000, u64::MAX] {
            assert_eq!(decimal(number), number.to_string());
        }
    }
}
