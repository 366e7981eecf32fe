//! A text with its syntax tree and its tokens.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value as AstValue};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, parse_to_ast};

use super::layout::{Layout, line_start};
use super::parsing::{OPTIONS, parse, parse_error};

/// A text with its syntax tree and its tokens, which include comments.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) root: Option<AstValue<'a>>,
    tokens: Vec<TokenAndRange<'a>>,
}

impl<'a> Source<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        // Of two members with one key, another program may use the other one.
        parse(text)?;
        let collected = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = parse_to_ast(text, &collected, &OPTIONS);
        let parsed = parsed.map_err(|error| parse_error(&error))?;
        Ok(Self {
            text,
            root: parsed.value,
            tokens: parsed.tokens.unwrap_or_default(),
        })
    }

    pub(super) fn layout(&self) -> Layout<'a> {
        let root = self.root.as_ref().and_then(AstValue::as_object);
        let first = root.and_then(|root| root.properties.first());
        Layout::of(self.text, first.map(Ranged::start))
    }

    pub(super) fn is_root(&self, object: &Object<'_>) -> bool {
        let root = self.root.as_ref().map(Ranged::start);
        root == Some(object.start())
    }

    /// Returns the end of the comma that follows an offset, with only comments between them.
    pub(super) fn comma_after(&self, offset: usize) -> Option<usize> {
        let following = self.tokens.iter();
        let mut following = following.filter(|it| it.start() >= offset && !is_comment(&it.token));
        let next = following.next()?;
        (next.token == Token::Comma).then_some(next.end())
    }

    /// Returns the end of the comma before an offset, with only comments between them.
    pub(super) fn comma_before(&self, offset: usize) -> Option<usize> {
        let preceding = self.tokens.iter().rev();
        let mut preceding = preceding.filter(|it| it.end() <= offset && !is_comment(&it.token));
        let previous = preceding.next()?;
        (previous.token == Token::Comma).then_some(previous.end())
    }

    /// Returns the end of the comments that follow an offset on its line.
    pub(super) fn comments_end(&self, offset: usize) -> usize {
        let mut end = offset;
        for token in self.tokens.iter().filter(|it| it.start() >= offset) {
            let is_on_line = !self.text[end..token.start()].contains('\n');
            if !is_comment(&token.token) || !is_on_line {
                break;
            }
            end = token.end();
        }
        end
    }

    /// Returns the range of a member with white space: that before it if it has its lines alone, and
    /// that after it otherwise.
    pub(super) fn with_space(&self, start: usize, end: usize) -> Range<usize> {
        let text = self.text;
        let rest = text[end..].trim_start_matches([' ', '\t']);
        let closes = rest.starts_with('}');
        match line_start(text, start) {
            // The brace would become a part of the comment.
            Some(_) if closes && self.follows_line_comment(start) => start..end,
            // One line break is cut: an empty line before the member stays.
            Some(indent) if closes || rest.starts_with(['\r', '\n']) => {
                let line = start - indent.len();
                let line_break = if text[..line].ends_with("\r\n") { 2 } else { 1 };
                line - line_break..end
            }
            _ if closes => text[..start].trim_end_matches([' ', '\t']).len()..end,
            _ => start..text.len() - rest.len(),
        }
    }

    fn follows_line_comment(&self, offset: usize) -> bool {
        let previous = self.tokens.iter().rev().find(|it| it.end() <= offset);
        matches!(previous.map(|it| &it.token), Some(Token::CommentLine(_)))
    }
}

fn is_comment(token: &Token<'_>) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}
