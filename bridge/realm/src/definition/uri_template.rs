//! Matches URIs against resource templates (RFC 6570) and extracts the values of the variables.
//!
//! RFC 6570 defines only how a template is expanded and leaves matching to its users. Here a
//! variable matches what its expansion could have produced: `{x}` anything up to `/`, `?`, `#` or
//! the `,` before the next variable, `{+x}` and `{#x}` anything, `{/x}` one path segment (`{/x*}`
//! several), `{.x}` one label, `{?a,b}` and `{&a,b}` query parameters in any order, each of which
//! may be missing. Values are percent-decoded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use regex::{Regex, RegexBuilder};

/// The maximum size of the compiled form of a template in bytes.
const MAX_COMPILED_BYTES: usize = 64 * 1024;

/// The maximum size of the regex engine's cache for one template in bytes.
const MAX_CACHE_BYTES: usize = 64 * 1024;

/// The maximum number of variables in one template. Each is one more state that matching has to
/// follow at every character of a URI.
const MAX_VARIABLES: usize = 32;

/// The maximum length of a URI in bytes; a longer one matches no template.
pub const MAX_URI_BYTES: usize = 8 * 1024;

/// The longest prefix length, as in `{x:8}`, that becomes repetitions in the pattern; longer ones
/// are checked after the match.
const MAX_COUNTED_CHARS: u16 = 8;

/// A URI template, compiled for matching.
#[derive(Debug)]
pub struct UriTemplate {
    /// The literal text before the first variable, with which every matching URI begins.
    prefix: String,
    pattern: Regex,
    /// The meaning of each capture group of the pattern.
    groups: Vec<Group>,
}

#[derive(Debug)]
enum Group {
    /// One variable, with its maximum number of characters if the template sets one.
    Variable(String, Option<u16>),
    /// Several values of one variable and their separator.
    List(String, char),
    Query(Vec<String>),
}

impl UriTemplate {
    /// Parses and compiles a template.
    ///
    /// # Errors
    /// Returns a message that explains why the text is not a valid template.
    pub fn parse(template: &str) -> Result<Self, String> {
        let mut pattern = String::from("^");
        let mut groups = Vec::new();
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            push_literal(literal, &mut pattern)?;
            let (expression, after) = after
                .split_once('}')
                .ok_or_else(|| "a `{` has no `}`".to_owned())?;
            push_expression(expression, &mut pattern, &mut groups)?;
            rest = after;
        }
        push_literal(rest, &mut pattern)?;
        pattern.push('$');
        if groups.iter().map(Group::variable_count).sum::<usize>() > MAX_VARIABLES {
            return Err(format!("it has more than {MAX_VARIABLES} variables"));
        }
        let pattern = RegexBuilder::new(&pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_CACHE_BYTES)
            .build()
            .map_err(|_| "it is too long".to_owned())?;
        let prefix = template.split('{').next().unwrap_or_default().to_owned();
        Ok(Self {
            prefix,
            pattern,
            groups,
        })
    }

    /// A cheap check that rules out most URIs before the pattern runs.
    fn may_match(&self, uri: &str) -> bool {
        uri.len() <= MAX_URI_BYTES && uri.starts_with(&self.prefix)
    }

    /// The values of the variables, if the URI matches.
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if !self.may_match(uri) {
            return None;
        }
        let found = self.pattern.captures(uri)?;
        let mut values = BTreeMap::new();
        for (index, group) in self.groups.iter().enumerate() {
            let Some(text) = found.get(index + 1).map(|text| text.as_str()) else {
                continue;
            };
            match group {
                Group::Variable(_, Some(max_chars))
                    if text.chars().count() > usize::from(*max_chars) =>
                {
                    return None;
                }
                Group::Variable(name, _) => {
                    values.insert(name.clone(), percent_decode(text)?.into_owned());
                }
                Group::List(name, separator) => {
                    let text = text.trim_start_matches(*separator);
                    let separator = separator.to_string();
                    let parts: Option<Vec<_>> =
                        text.split(&separator).map(percent_decode).collect();
                    values.insert(name.clone(), parts?.join(&separator));
                }
                Group::Query(names) => {
                    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
                        if names.iter().any(|known| *known == name) {
                            values.insert(name.into_owned(), value.into_owned());
                        }
                    }
                }
            }
        }
        Some(values)
    }
}

impl Group {
    fn variable_count(&self) -> usize {
        match self {
            Group::Query(names) => names.len(),
            Group::Variable(..) | Group::List(..) => 1,
        }
    }
}

fn push_literal(literal: &str, pattern: &mut String) -> Result<(), String> {
    if literal.contains('}') {
        return Err("a `}` has no `{`".to_owned());
    }
    pattern.push_str(&regex::escape(literal));
    Ok(())
}

fn push_expression(
    expression: &str,
    pattern: &mut String,
    groups: &mut Vec<Group>,
) -> Result<(), String> {
    let (operator, names) = match expression.chars().next() {
        Some(first @ ('+' | '#' | '.' | '/' | ';' | '?' | '&')) => (first, &expression[1..]),
        _ => (' ', expression),
    };
    let variables = names
        .split(',')
        .map(parse_variable)
        .collect::<Result<Vec<_>, _>>()?;
    if let '?' | '&' = operator {
        let _ = write!(
            pattern,
            r"(?:{}([^#]*))?",
            regex::escape(&operator.to_string())
        );
        groups.push(Group::Query(
            variables
                .into_iter()
                .map(|variable| variable.name)
                .collect(),
        ));
        return Ok(());
    }
    for (index, variable) in variables.into_iter().enumerate() {
        let first = index == 0;
        let length = match variable.max_chars {
            Some(max_chars @ ..=MAX_COUNTED_CHARS) => format!("{{1,{max_chars}}}"),
            _ => "+".to_owned(),
        };
        let max_chars = variable.max_chars;
        let name = variable.name;
        match (operator, variable.explode) {
            ('+', _) | ('#', _) => {
                pattern.push_str(match (operator, first) {
                    ('#', true) => "#",
                    (_, true) => "",
                    _ => ",",
                });
                let _ = write!(pattern, "(.{length}?)");
                groups.push(Group::Variable(name, max_chars));
            }
            ('/', true) => {
                pattern.push_str("((?:/[^/?#]+)+)");
                groups.push(Group::List(name, '/'));
            }
            ('.', true) => {
                pattern.push_str(r"((?:\.[^/?#.]+)+)");
                groups.push(Group::List(name, '.'));
            }
            ('/', false) => {
                let _ = write!(pattern, "/([^/?#]{length})");
                groups.push(Group::Variable(name, max_chars));
            }
            ('.', false) => {
                let _ = write!(pattern, r"\.([^/?#.]{length})");
                groups.push(Group::Variable(name, max_chars));
            }
            (';', _) => {
                let _ = write!(pattern, "(?:;{}(?:=([^/?#;]*))?)?", regex::escape(&name));
                groups.push(Group::Variable(name, max_chars));
            }
            (_, true) => {
                pattern.push_str("([^/?#]+)");
                groups.push(Group::List(name, ','));
            }
            (_, false) => {
                let _ = write!(pattern, "{}([^/?#,]{length})", if first { "" } else { "," });
                groups.push(Group::Variable(name, max_chars));
            }
        }
    }
    Ok(())
}

struct Variable {
    name: String,
    explode: bool,
    max_chars: Option<u16>,
}

/// Parses a variable with its modifier (RFC 6570 sections 2.3 and 2.4).
fn parse_variable(text: &str) -> Result<Variable, String> {
    let (text, explode) = match text.strip_suffix('*') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (name, most_chars) = match text.split_once(':') {
        Some((name, digits)) => match digits.parse() {
            Ok(most @ 1..=9999) => (name, Some(most)),
            _ => return Err(format!("`{text}` has no length from 1 to 9999")),
        },
        None => (text, None),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%' | '-');
    if name.is_empty() || !name.chars().all(fits) {
        return Err(format!("`{text}` is not the name of a variable"));
    }
    let name = name.to_owned();
    Ok(Variable {
        name,
        explode,
        max_chars: most_chars,
    })
}

/// Decodes percent-encoding; `None` if the bytes are not UTF-8.
fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables_of(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let template = UriTemplate::parse(template).unwrap();
        template
            .matches(uri)
            .map(|values| values.into_iter().collect())
    }

    #[test]
    fn each_expression_matches_its_own_expansions() {
        type Case = (
            &'static str,
            &'static str,
            &'static [(&'static str, &'static str)],
        );
        let cases: [Case; 14] = [
            ("board://cards/{id}", "board://cards/7", &[("id", "7")]),
            (
                "board://cards/{id}",
                "board://cards/a%20b",
                &[("id", "a b")],
            ),
            (
                "test://{a}/x/{b}",
                "test://1/x/2",
                &[("a", "1"), ("b", "2")],
            ),
            (
                "geo:{lat,lon}",
                "geo:48,11",
                &[("lat", "48"), ("lon", "11")],
            ),
            ("file:///{+path}", "file:///a/b?c", &[("path", "a/b?c")]),
            ("app://page{#part}", "app://page#top", &[("part", "top")]),
            ("app://x{/a,b}", "app://x/1/2", &[("a", "1"), ("b", "2")]),
            ("app://x{/path*}", "app://x/1/2/3", &[("path", "1/2/3")]),
            ("app://x{.ext}", "app://x.json", &[("ext", "json")]),
            ("app://x{;v}", "app://x;v=2", &[("v", "2")]),
            (
                "app://x{?q,n}",
                "app://x?n=2&q=a+b&z=1",
                &[("n", "2"), ("q", "a b")],
            ),
            ("app://x{?q}", "app://x", &[]),
            ("app://x?f=1{&q}", "app://x?f=1&q=2", &[("q", "2")]),
            ("app://{x:3}", "app://abc", &[("x", "abc")]),
        ];
        for (template, uri, expected) in cases {
            let expected = expected
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(
                variables_of(template, uri),
                Some(expected),
                "{template} {uri}"
            );
        }
    }

    #[test]
    fn other_uris_do_not_match() {
        let cases = [
            ("board://cards/{id}", "board://cards/"),
            ("board://cards/{id}", "board://cards/1/2"),
            ("board://cards/{id}", "board://cards/%FF"),
            ("board://cards/{id}", "xboard://cards/1"),
            ("app://x.y/{id}", "app://xzy/1"),
            ("app://{x:3}", "app://abcd"),
            ("app://{x:9}", "app://0123456789"),
        ];
        for (template, uri) in cases {
            assert_eq!(variables_of(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn errors_say_why_a_template_is_invalid() {
        for (template, word) in [
            ("a{b", "no `}`"),
            ("a}b", "no `{`"),
            ("a{}", "name of a variable"),
            ("a{b c}", "name of a variable"),
            ("a{b:0}", "1 to 9999"),
        ] {
            let error = UriTemplate::parse(template).unwrap_err();
            assert!(error.contains(word), "{template}: {error}");
        }
        let long = "x".repeat(MAX_COMPILED_BYTES);
        assert!(UriTemplate::parse(&long).unwrap_err().contains("too long"));
        let counted = "{+x:8}".repeat(MAX_VARIABLES);
        let error = UriTemplate::parse(&counted).unwrap_err();
        assert!(error.contains("too long"), "{error}");
        let most = "{x}".repeat(MAX_VARIABLES);
        assert!(UriTemplate::parse(&most).is_ok());
        let more = format!("{most}{{?x}}");
        let error = UriTemplate::parse(&more).unwrap_err();
        assert!(error.contains("32 variables"), "{error}");
    }

    /// These templates would be the slowest ones to match: many variables are active at every
    /// character.
    #[test]
    fn worst_case_templates_match_the_longest_uri_quickly() {
        let worst = [
            format!("a:{}z", "{+x}".repeat(MAX_VARIABLES)),
            format!("a:{}z", "{+x:8}".repeat(4)),
            format!("a:{}z", "{+x}a".repeat(MAX_VARIABLES)),
            format!("a:{}z", "{x}".repeat(MAX_VARIABLES)),
        ];
        let uri = format!("a:{}", "a".repeat(MAX_URI_BYTES - 2));
        let started = web_time::Instant::now();
        for template in &worst {
            assert_eq!(variables_of(template, &uri), None);
        }
        let all = "{+x}".repeat(MAX_VARIABLES);
        assert!(variables_of(&all, &uri).is_some());
        let took = started.elapsed();
        assert!(took < std::time::Duration::from_secs(2), "{took:?}");
        assert_eq!(variables_of("a:{+x}", &format!("{uri}a")), None, "too long");
        assert!(variables_of("a:{+x}", &uri).is_some());
    }
}
