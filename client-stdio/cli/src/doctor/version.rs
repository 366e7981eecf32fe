//! Whether two versions work together.

/// The version of this program.
pub(super) const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns whether two versions work together: the major versions agree, and below 1.0 the minor ones.
pub(super) fn fits(version: &str, other: &str) -> bool {
    series(version) == series(other) && series(version).is_some()
}

/// Returns whether a version is older than another one.
pub(super) fn is_older(version: &str, other: &str) -> bool {
    series(version) < series(other)
}

/// Returns the part of a version that must agree.
fn series(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map(str::parse);
    match (numbers.next()?, numbers.next()?) {
        (Ok(0), Ok(minor)) => Some((0, minor)),
        (Ok(major), Ok(_)) => Some((major, 0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_1_0_the_minor_version_must_agree() {
        assert_eq!(series("0.2.7"), series("0.2.0-beta"));
        assert_ne!(series("0.2.0"), series("0.3.0"));
        assert_eq!(series("1.2.0"), series("1.3.0"));
        assert_ne!(series("1.2.0"), series("2.2.0"));
        assert!(fits(OWN_VERSION, OWN_VERSION) && !is_older(OWN_VERSION, OWN_VERSION));
        assert!(is_older("0.0.9", "0.1.0") && !is_older("0.1.0", "0.0.9"));
        for unknown in ["", "1", "a.b", "latest"] {
            assert!(!fits(unknown, unknown), "{unknown}");
        }
    }
}
