//! Each page is an open file, here and in the server.

use anyhow::{Context, Result, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Files beside those of pages: pipes, callers, what libraries open.
const RESERVED_FILES: u64 = 200;

/// Lets this process, and those that it starts, open a file for each page.
///
/// # Errors
///
/// When the system allows fewer, with what to do about it.
pub fn raise_open_file_limit(pages: usize) -> Result<()> {
    let wanted = pages as u64 + RESERVED_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(u64::MAX);
    ensure!(
        most >= wanted,
        "{pages} pages need {wanted} open files in one process, and this one may have {most}: raise \
         the limit (`ulimit -n {wanted}` as root, or LimitNOFILE of the service that starts you), or \
         measure fewer pages"
    );
    limit.current = Some(wanted);
    setrlimit(Resource::Nofile, limit).context("the limit of open files cannot be raised")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_above_the_systems_is_an_error_with_advice() {
        raise_open_file_limit(1).unwrap();
        let Some(most) = getrlimit(Resource::Nofile).maximum else {
            return assert!(raise_open_file_limit(1_000_000).is_ok());
        };
        let pages = usize::try_from(most).unwrap();
        let error = raise_open_file_limit(pages).unwrap_err().to_string();
        assert!(error.contains("ulimit -n"), "{error}");
    }
}
