//! Paths in tokens that only a macro knows how to parse.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::module_tree::{NamePath, Namespaces};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenPath {
    pub(super) path: NamePath,
    pub(super) namespaces: Namespaces,
    pub(super) line: usize,
}

/// Every `a::b`, and every single name that begins with a capital, is called, or is a macro's.
pub(super) fn paths(tokens: TokenStream) -> Vec<TokenPath> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => {
                found.extend(paths(group.stream()));
                at += 1;
            }
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let (segments, end) = segments(&tokens, at);
                if let Some(namespaces) = namespaces(&tokens, at, end, &segments) {
                    let path = NamePath {
                        is_global: is_colons(&tokens, at.wrapping_sub(2)),
                        segments,
                    };
                    found.push(TokenPath {
                        path,
                        namespaces,
                        line,
                    });
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    found
}

/// All identifiers in the tokens.
pub(super) fn words(tokens: TokenStream) -> Vec<String> {
    let words = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => words(group.stream()),
        TokenTree::Ident(ident) => vec![ident.to_string()],
        _ => Vec::new(),
    });
    words.flatten().collect()
}

/// The path that begins at a token, and the index behind it.
fn segments(tokens: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    let mut at = start;
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        segments.push(ident.to_string());
        at += 1;
        if !is_colons(tokens, at) || !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        at += 2;
    }
    (segments, at)
}

/// Where to look the path up, unless it is a field, a lifetime, a variable of a macro or a word of the
/// language.
fn namespaces(
    tokens: &[TokenTree],
    start: usize,
    end: usize,
    segments: &[String],
) -> Option<Namespaces> {
    let before = start.checked_sub(1).map(|at| &tokens[at]);
    let first = segments.first()?;
    match before {
        Some(TokenTree::Punct(punct)) => match punct.as_char() {
            '\'' => return None,
            '.' if punct.spacing() == Spacing::Alone => return None,
            '$' if first != "crate" => return None,
            _ => {}
        },
        Some(TokenTree::Ident(word)) if word == "fn" || word == "let" => return None,
        _ => {}
    }
    let next = tokens.get(end);
    if is_punct(next, '!') && matches!(tokens.get(end + 1), Some(TokenTree::Group(_))) {
        return Some(Namespaces::MACROS);
    }
    let is_called = matches!(next, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
    let is_capital = first.starts_with(char::is_uppercase);
    let is_name = segments.len() > 1 || is_capital || is_called;
    is_name.then_some(Namespaces::ALL)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at.wrapping_add(1)), ':')
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}
