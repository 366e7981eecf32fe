//! The lines of a source file, each split into code and comment.

/// How a language marks its comments.
pub(super) struct Syntax {
    /// The markers of comments that end with the line, the longest first.
    line: &'static [&'static str],
    /// The begin and the end of a comment of several lines.
    block: Option<(&'static str, &'static str)>,
}

/// One line of source code.
pub(super) struct SourceLine<'a> {
    pub(super) number: usize,
    pub(super) code: &'a str,
    /// The marker and the text of the comment, if the line has one.
    pub(super) comment: Option<(&'static str, &'a str)>,
}

impl<'a> SourceLine<'a> {
    /// Returns the marker and the text of the comment, if the line has nothing else.
    pub(super) fn whole_comment(&self) -> Option<(&'static str, &'a str)> {
        self.comment.filter(|_| self.code.trim().is_empty())
    }
}

impl Syntax {
    /// Returns the syntax of the files with this extension, or `None` if they have no comments.
    pub(super) fn from_extension(extension: &str) -> Option<Self> {
        let (line, block): (&[_], _) = match extension {
            "rs" => (&["///", "//!", "//"], Some(("/*", "*/"))),
            "ts" | "tsx" | "mts" | "js" | "mjs" | "jsx" | "svelte" | "vue" | "html" => {
                (&["//"], Some(("/*", "*/")))
            }
            "css" => (&[], Some(("/*", "*/"))),
            "py" => (&["#"], Some(("\"\"\"", "\"\"\""))),
            "toml" | "yaml" => (&["#"], None),
            _ => return None,
        };
        Some(Self { line, block })
    }

    /// Splits a file into its lines.
    pub(super) fn lines<'a>(&self, text: &'a str) -> Vec<SourceLine<'a>> {
        let mut open_block = None;
        let lines = (1..).zip(text.lines()).map(|(number, line)| {
            let (code, comment) = match open_block {
                Some((begin, _)) => ("", Some((begin, line.trim_start()))),
                None => self.split_line(line),
            };
            let block = self
                .block
                .filter(|(begin, _)| comment.is_some_and(|(marker, _)| marker == *begin));
            let comment = comment.map(|(marker, text)| match block {
                Some((_, end)) => {
                    let (text, is_closed) = text
                        .split_once(end)
                        .map_or((text, false), |(text, _)| (text, true));
                    open_block = block.filter(|_| !is_closed);
                    (marker, text.trim_start_matches('*'))
                }
                None => (marker, text),
            });
            SourceLine {
                number,
                code,
                comment,
            }
        });
        lines.collect()
    }

    /// Splits a line where the first comment begins.
    fn split_line<'a>(&self, line: &'a str) -> (&'a str, Option<(&'static str, &'a str)>) {
        let markers = || {
            self.line
                .iter()
                .copied()
                .chain(self.block.map(|(begin, _)| begin))
        };
        let mut is_after_space = true;
        for (at, char) in line.char_indices() {
            if is_after_space
                && let Some(marker) = markers().find(|marker| line[at..].starts_with(marker))
            {
                return (&line[..at], Some((marker, &line[at + marker.len()..])));
            }
            is_after_space = char.is_whitespace();
        }
        (line, None)
    }
}
