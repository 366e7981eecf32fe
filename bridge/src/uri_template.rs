//! Which URIs fit a resource template (RFC 6570), and what its variables stand for.
//!
//! RFC 6570 defines how a template is expanded, and leaves matching to whoever needs it. Here a
//! variable takes what its expansion could have written: `{x}` anything up to `/`, `?`, `#` or the
//! `,` to the next variable, `{+x}` and `{#x}` anything, `{/x}` one path segment (`{/x*}` several),
//! `{.x}` one label, `{?a,b}` and `{&a,b}` query parameters in any order, each of which may be
//! missing. Values are percent-decoded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use regex::{Regex, RegexBuilder};

/// What the compiled form of a template may take, in bytes.
const COMPILED_BYTES: usize = 1 << 20;

/// A template that URIs can be held against.
#[derive(Debug)]
pub(crate) struct UriTemplate {
    pattern: Regex,
    /// What each group of the pattern holds.
    groups: Vec<Group>,
}

#[derive(Debug)]
enum Group {
    Variable(String),
    /// Several values of one variable, separated so.
    Values(String, char),
    Query(Vec<String>),
}

impl UriTemplate {
    /// # Errors
    /// In words, why the text is no template.
    pub(crate) fn parse(template: &str) -> Result<Self, String> {
        let mut pattern = String::from("^");
        let mut groups = Vec::new();
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            literal_pattern(literal, &mut pattern)?;
            let (expression, after) = after
                .split_once('}')
                .ok_or_else(|| "a `{` has no `}`".to_owned())?;
            expression_pattern(expression, &mut pattern, &mut groups)?;
            rest = after;
        }
        literal_pattern(rest, &mut pattern)?;
        pattern.push('$');
        let pattern = RegexBuilder::new(&pattern)
            .size_limit(COMPILED_BYTES)
            .build()
            .map_err(|_| "it is too long".to_owned())?;
        Ok(Self { pattern, groups })
    }

    /// The values of the variables, if the URI fits.
    pub(crate) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let found = self.pattern.captures(uri)?;
        let mut values = BTreeMap::new();
        for (index, group) in self.groups.iter().enumerate() {
            let Some(text) = found.get(index + 1).map(|text| text.as_str()) else {
                continue;
            };
            match group {
                Group::Variable(name) => {
                    values.insert(name.clone(), decoded(text)?.into_owned());
                }
                Group::Values(name, separator) => {
                    let text = text.trim_start_matches(*separator);
                    let separator = separator.to_string();
                    let parts: Option<Vec<_>> = text.split(&separator).map(decoded).collect();
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

fn literal_pattern(literal: &str, pattern: &mut String) -> Result<(), String> {
    if literal.contains('}') {
        return Err("a `}` has no `{`".to_owned());
    }
    pattern.push_str(&regex::escape(literal));
    Ok(())
}

fn expression_pattern(
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
        .map(variable)
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
        let length = match variable.most_chars {
            Some(most) => format!("{{1,{most}}}"),
            None => "+".to_owned(),
        };
        let name = variable.name;
        match (operator, variable.explode) {
            ('+', _) | ('#', _) => {
                pattern.push_str(match (operator, first) {
                    ('#', true) => "#",
                    (_, true) => "",
                    _ => ",",
                });
                let _ = write!(pattern, "(.{length}?)");
                groups.push(Group::Variable(name));
            }
            ('/', true) => {
                pattern.push_str("((?:/[^/?#]+)+)");
                groups.push(Group::Values(name, '/'));
            }
            ('.', true) => {
                pattern.push_str(r"((?:\.[^/?#.]+)+)");
                groups.push(Group::Values(name, '.'));
            }
            ('/', false) => {
                let _ = write!(pattern, "/([^/?#]{length})");
                groups.push(Group::Variable(name));
            }
            ('.', false) => {
                let _ = write!(pattern, r"\.([^/?#.]{length})");
                groups.push(Group::Variable(name));
            }
            (';', _) => {
                let _ = write!(pattern, "(?:;{}(?:=([^/?#;]*))?)?", regex::escape(&name));
                groups.push(Group::Variable(name));
            }
            (_, true) => {
                pattern.push_str("([^/?#]+)");
                groups.push(Group::Values(name, ','));
            }
            (_, false) => {
                let _ = write!(pattern, "{}([^/?#,]{length})", if first { "" } else { "," });
                groups.push(Group::Variable(name));
            }
        }
    }
    Ok(())
}

struct Variable {
    name: String,
    explode: bool,
    most_chars: Option<u16>,
}

/// RFC 6570 section 2.3 and 2.4.
fn variable(text: &str) -> Result<Variable, String> {
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
        return Err(format!("`{text}` is no name of a variable"));
    }
    let name = name.to_owned();
    Ok(Variable {
        name,
        explode,
        most_chars,
    })
}

/// `None` when the bytes are no text.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let template = UriTemplate::parse(template).unwrap();
        template
            .matches(uri)
            .map(|values| values.into_iter().collect())
    }

    #[test]
    fn each_kind_of_expression_takes_what_it_could_have_written() {
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
            assert_eq!(matched(template, uri), Some(expected), "{template} {uri}");
        }
    }

    #[test]
    fn what_does_not_fit_does_not_match() {
        let cases = [
            ("board://cards/{id}", "board://cards/"),
            ("board://cards/{id}", "board://cards/1/2"),
            ("board://cards/{id}", "board://cards/%FF"),
            ("board://cards/{id}", "xboard://cards/1"),
            ("app://x.y/{id}", "app://xzy/1"),
            ("app://{x:3}", "app://abcd"),
        ];
        for (template, uri) in cases {
            assert_eq!(matched(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn what_is_no_template_says_why() {
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
        let long = "{x:9999}".repeat(1_000);
        assert!(UriTemplate::parse(&long).unwrap_err().contains("too long"));
    }
}
