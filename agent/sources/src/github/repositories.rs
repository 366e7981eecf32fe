//! The repositories that the operator allows.

use agent_tools::{CallOutput, CallStatus};
use bridge_protocol::invisible::without_invisible;
use globset::{GlobBuilder, GlobMatcher};

use crate::http_api::short_line;

/// The qualifiers with which a query names repositories or their owners.
const SCOPE_QUALIFIERS: [&str; 5] = ["repo", "org", "user", "owner", "enterprise"];

/// The repositories that the operator allows: those of the patterns, or all.
#[derive(Debug)]
pub(super) struct Repositories(Option<Vec<Pattern>>);

/// A pattern such as `owner/*`. The owner is always a name.
#[derive(Debug)]
struct Pattern {
    glob: GlobMatcher,
    /// The qualifier that limits a search to the repositories of the pattern, or to those of its
    /// owner.
    qualifier: String,
}

impl Pattern {
    fn new(text: &str) -> Result<Self, String> {
        let invalid = || format!("`{text}` in `repositories` must be `owner/name` or `owner/*`");
        let (owner, name) = text.split_once('/').ok_or_else(invalid)?;
        // With another name, because that of a pattern is not one.
        let has_owner = parse_name(&format!("{owner}/name")).is_some();
        if !has_owner || name.is_empty() || name.contains('/') {
            return Err(invalid());
        }
        let glob = GlobBuilder::new(text).case_insensitive(true).build();
        Ok(Self {
            glob: glob.map_err(|_| invalid())?.compile_matcher(),
            qualifier: if parse_name(text).is_some() {
                format!("repo:{text}")
            } else {
                // It finds the repositories of organizations also.
                format!("user:{owner}")
            },
        })
    }
}

/// Parses `owner/name`. Each part is one segment of a path, and has no meaning in a query.
fn parse_name(text: &str) -> Option<(&str, &str)> {
    let (owner, name) = text.split_once('/')?;
    let is_owner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_valid = owner.bytes().all(is_owner)
        && name.bytes().all(|byte| is_owner(byte) || byte == b'.')
        && !owner.is_empty()
        && !["", ".", ".."].contains(&name);
    is_valid.then_some((owner, name))
}

impl Repositories {
    pub(super) fn new(patterns: Option<&[String]>) -> Result<Self, String> {
        if patterns.is_some_and(<[String]>::is_empty) {
            return Err("`repositories` is empty: name one, or remove it to allow all".to_owned());
        }
        let patterns = patterns.map(|it| it.iter().map(|it| Pattern::new(it)).collect());
        Ok(Self(patterns.transpose()?))
    }

    /// Returns the owner and the name of a repository that may be used.
    pub(super) fn allowed<'a>(&self, text: &'a str) -> Result<(&'a str, &'a str), CallOutput> {
        let name = parse_name(text).ok_or_else(|| {
            let text = short_line(text);
            invalid(&format!("`{text}` is not a repository: write `owner/name`"))
        })?;
        if self.may_show(text, None) {
            return Ok(name);
        }
        Err(denied(&format!(
            "the operator does not allow the repository `{text}` here"
        )))
    }

    /// Returns whether a result of this repository may be shown, in a search in the requested one.
    pub(super) fn may_show(&self, name: &str, requested: Option<&str>) -> bool {
        let is_requested = requested.is_none_or(|it| it.eq_ignore_ascii_case(name));
        let patterns = self.0.as_ref();
        is_requested && patterns.is_none_or(|all| all.iter().any(|it| it.glob.is_match(name)))
    }

    /// Returns a query with the qualifiers of the repositories in which it may search. One that has
    /// such itself is refused: GitHub searches in all repositories that a query names.
    pub(super) fn search_query(
        &self,
        query: &str,
        repository: Option<&str>,
    ) -> Result<String, CallOutput> {
        let qualifiers: Vec<_> = match (repository, &self.0) {
            (None, None) => return Ok(query.to_owned()),
            (Some(repository), _) => {
                self.allowed(repository)?;
                vec![format!("repo:{repository}")]
            }
            (None, Some(patterns)) => patterns.iter().map(|it| it.qualifier.clone()).collect(),
        };
        let query = without_invisible(query);
        if let Some(qualifier) = scope_qualifier(&query) {
            return Err(denied(&format!(
                "`query` cannot have `{qualifier}:` here: name the repository in `repository`"
            )));
        }
        // They are first, so that no quotation mark and no `NOT` of the query applies to them.
        Ok(format!("{} {query}", qualifiers.join(" ")))
    }
}

/// Returns the qualifier of a query that names repositories, also within quotation marks.
fn scope_qualifier(query: &str) -> Option<&'static str> {
    let query = query.to_ascii_lowercase();
    let is_in_query = |qualifier: &&str| {
        query.match_indices(*qualifier).any(|(start, _)| {
            let is_start = !query[..start].ends_with(char::is_alphanumeric);
            is_start
                && query[start + qualifier.len()..]
                    .trim_start()
                    .starts_with(':')
        })
    };
    SCOPE_QUALIFIERS.into_iter().find(is_in_query)
}

/// Creates the output of a call that is not made because of its arguments.
pub(super) fn invalid(reason: &str) -> CallOutput {
    let reason = format!("Not called: {reason}.");
    CallOutput::failed(CallStatus::InvalidArguments, reason)
}

/// Creates the output of a call that is not made because of its repository.
fn denied(reason: &str) -> CallOutput {
    CallOutput::failed(CallStatus::Denied, format!("Not called: {reason}."))
}
