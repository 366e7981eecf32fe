//! The limit of open files: each page is an open file, in this process and in the server.

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Files other than those of pages: pipes, callers, and what libraries open.
const RESERVED_FILES: u64 = 200;

/// Raises the limit so that this process and its children can open a file for each page.
///
/// # Errors
///
/// Returns an error when the system does not allow it; the error describes what to do.
pub fn raise_open_file_limit(pages: usize) -> Result<()> {
    let required = pages as u64 + RESERVED_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= required) {
        return Ok(());
    }
    let max = limit.maximum.unwrap_or(u64::MAX);
    ensure!(
        max >= required,
        "{pages} pages need {required} open files in one process, but this one may open only {max}: \
         raise the limit (`ulimit -n {required}` as root, or LimitNOFILE of the service), or measure \
         fewer pages"
    );
    limit.current = Some(required);
    setrlimit(Resource::Nofile, limit).context("cannot raise the limit of open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeding_the_limit_of_the_system_is_an_error_with_advice() {
        raise_open_file_limit(1).unwrap();
        let Some(max) = getrlimit(Resource::Nofile).maximum else {
            return assert!(raise_open_file_limit(1_000_000).is_ok());
        };
        let pages = usize::try_from(max).unwrap();
        let error = raise_open_file_limit(pages).unwrap_err().to_string();
        assert!(error.contains("ulimit -n"), "{error}");
    }
}
