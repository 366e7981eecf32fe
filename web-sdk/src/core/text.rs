//! Text without `format!`, whose machinery would be a noticeable part of the download.

/// A number in decimal.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        for number in [0, 7, 10, 1_790_000_000_000, u64::MAX] {
            assert_eq!(decimal(number), number.to_string());
        }
    }
}
