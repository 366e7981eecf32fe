//! Finds paths in the tokens of macros and attributes, whose syntax is unknown.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::module_tree::{NamePath, Namespaces};

/// A path in tokens, and where to look it up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenPath {
    pub(super) path: NamePath,
    pub(super) namespaces: Namespaces,
    pub(super) line: usize,
}

/// Returns every `a::b`, and every single name that begins with a capital, is called, or is a
/// macro's.
pub(super) fn paths(tokens: TokenStream) -> Vec<TokenPath> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut token_paths = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        match &tokens[index] {
            TokenTree::Group(group) => {
                token_paths.extend(paths(group.stream()));
                index += 1;
            }
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let (segments, end) = segments(&tokens, index);
                if let Some(namespaces) = namespaces(&tokens, index, end, &segments) {
                    let path = NamePath {
                        is_global: is_path_separator(&tokens, index.wrapping_sub(2)),
                        segments,
                    };
                    token_paths.push(TokenPath {
                        path,
                        namespaces,
                        line,
                    });
                }
                index = end;
            }
            _ => index += 1,
        }
    }
    token_paths
}

/// Returns all identifiers in the tokens.
pub(super) fn identifiers(tokens: TokenStream) -> Vec<String> {
    let identifiers = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => identifiers(group.stream()),
        TokenTree::Ident(ident) => vec![ident.to_string()],
        _ => Vec::new(),
    });
    identifiers.flatten().collect()
}

/// Returns the segments of the path that begins at a token, and the index of the token after the
/// path.
fn segments(tokens: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    let mut index = start;
    while let Some(TokenTree::Ident(ident)) = tokens.get(index) {
        segments.push(ident.to_string());
        index += 1;
        let has_next_segment = matches!(tokens.get(index + 2), Some(TokenTree::Ident(_)));
        if !is_path_separator(tokens, index) || !has_next_segment {
            break;
        }
        index += 2;
    }
    (segments, index)
}

/// Returns the namespaces to look the path up in, or `None` if it is a field, a lifetime, a
/// variable of a macro or a name that is being defined.
fn namespaces(
    tokens: &[TokenTree],
    start: usize,
    end: usize,
    segments: &[String],
) -> Option<Namespaces> {
    let before = start.checked_sub(1).map(|index| &tokens[index]);
    let first = segments.first()?;
    match before {
        Some(TokenTree::Punct(punct)) => match punct.as_char() {
            '\'' => return None,
            '.' if punct.spacing() == Spacing::Alone => return None,
            '$' if first != "crate" => return None,
            _ => {}
        },
        Some(TokenTree::Ident(keyword)) if keyword == "fn" || keyword == "let" => return None,
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

/// Returns whether there is a `::` at this index.
fn is_path_separator(tokens: &[TokenTree], index: usize) -> bool {
    is_punct(tokens.get(index), ':') && is_punct(tokens.get(index.wrapping_add(1)), ':')
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}
