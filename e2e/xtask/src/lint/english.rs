//! Checks the English of documents, comments and test names by a table of patterns: words that show
//! a sentence that was translated, with what to write in their place. `--help` is part of this,
//! because its texts are comments.

use std::collections::HashSet;
use std::fs;

use anyhow::{Context, Result, bail};
use regex::Regex;

use super::checkout_files::checkout_files;
use super::prose::{Paragraph, paragraphs};
use crate::Workspace;
use crate::step::{Outcome, step};

/// Text to avoid.
struct Rule {
    /// A regular expression for the text.
    found: &'static str,
    /// A regular expression for good English that contains the same words, or nothing.
    allowed: &'static str,
    /// Whether the text is only avoided at the beginning of a comment.
    begins_comment: bool,
    /// The text to write in its place.
    instead: &'static str,
}

const fn anywhere(found: &'static str, instead: &'static str) -> Rule {
    Rule {
        found,
        allowed: "",
        begins_comment: false,
        instead,
    }
}

/// The rules, for text without code in backticks.
const RULES: &[Rule] = &[
    Rule {
        found: r"^(?:So|What|Who|Whose|Whom|Whether or not)\s",
        allowed: "",
        begins_comment: true,
        instead: "a verb (`Returns …`) or a noun that names the thing (`Maximum number of …`)",
    },
    Rule {
        found: r"\bWhat (?:is|was|are)\b",
        allowed: r"\bWhat (?:is|was|are)\b[^.!?]*\?",
        begins_comment: false,
        instead: "a noun that names the thing: `Text that …`",
    },
    Rule {
        found: r"(?i)\b(?:is|are|was|were) no\s",
        allowed: r"(?i)\bthere (?:\w+ )?(?:is|are|was|were) no\b|\b(?:is|are|was|were) no (?:longer|more|less|fewer|larger|smaller|later|earlier|older|newer|better|worse)\b",
        begins_comment: false,
        instead: "`is not a …` or `has no …`",
    },
    Rule {
        found: r"(?i)\bas it (?:is|was)\b",
        allowed: r"(?i)\b(?:long|soon|far|often|much|many) as it (?:is|was)\b",
        begins_comment: false,
        instead: "`unchanged`, or `as` with a participle: `as sent`",
    },
    anywhere(r"(?i)\bhears?\b", "`receives …` or `is notified of …`"),
    anywhere(
        r"(?i)\btold\b",
        "`notified of …`, `sent …` or `distinguished`",
    ),
    anywhere(r"(?i)\bgo(?:es)? on\b", "`continues …`"),
    anywhere(r"(?i)\bfor for\b", "a sentence with one `for`"),
    anywhere(r"(?i), too(?:[.,;:!?)]|$)", "`also …`, before the verb"),
    anywhere(
        r"(?i)\bnobody\b",
        "the party in question: `no client`, `no page`",
    ),
    anywhere(
        r"(?i)\bof (?:its|their) own\b",
        "`its own …`, `a separate …` or `a dedicated …`",
    ),
];

/// Fails if a tracked file, or one that is to be tracked, contains text of the table.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    step("English of documents and comments", || {
        let table = Table::new(RULES)?;
        let mut violations = Vec::new();
        for name in checkout_files(workspace)? {
            // Some files of tests are not text, and have no prose.
            let Ok(text) = fs::read_to_string(workspace.path(&name)) else {
                continue;
            };
            violations.extend(table.violations(&name, &text));
        }
        if !violations.is_empty() {
            println!("{}", violations.join("\n"));
            bail!(
                "write plain English in the {} places that are listed above (lint/english.rs has the \
                 rules)",
                violations.len()
            );
        }
        Ok(Outcome::Done(()))
    })
}

/// The rules, compiled.
struct Table(Vec<(Regex, &'static Rule)>);

impl Table {
    fn new(rules: &'static [Rule]) -> Result<Self> {
        let compiled = rules.iter().map(|rule| Ok((rule.compile()?, rule)));
        Ok(Self(compiled.collect::<Result<_>>()?))
    }

    /// Describes each violation in a file.
    fn violations(&self, name: &str, text: &str) -> Vec<String> {
        let mut violations: Vec<_> = paragraphs(name, text)
            .iter()
            .flat_map(|paragraph| self.violations_in(paragraph))
            .collect();
        violations.sort_unstable();
        violations
            .into_iter()
            .map(|(line, words, instead)| format!("{name}:{line}: \"{words}\": write {instead}"))
            .collect()
    }

    /// Returns the line and the words of each violation, and the text to write in their place.
    fn violations_in(&self, paragraph: &Paragraph) -> Vec<(usize, String, &'static str)> {
        let text = paragraph.without_code();
        let mut starts = HashSet::new();
        let mut violations = Vec::new();
        for (regex, rule) in &self.0 {
            if rule.begins_comment && !paragraph.begins_comment {
                continue;
            }
            let found = regex
                .captures_iter(&text)
                .filter_map(|captures| captures.name("found"));
            // Two rules may find the same words.
            for found in found.filter(|found| starts.insert(found.start())) {
                let words = found.as_str().trim().to_owned();
                violations.push((paragraph.line(found.start()), words, rule.instead));
            }
        }
        violations
    }
}

impl Rule {
    /// Compiles the rule to one expression, which has the group `found` where text is to be avoided.
    /// Allowed text is matched first, so that no part of it is found.
    fn compile(&self) -> Result<Regex> {
        let found = format!("(?P<found>{})", self.found);
        let pattern = match self.allowed {
            "" => found,
            allowed => format!("(?:{allowed})|{found}"),
        };
        Regex::new(&pattern).with_context(|| format!("correct the pattern {pattern}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comments, and the words in each that the table finds.
    const CASES: &[(&str, &[&str])] = &[
        ("So many announcements stay.", &["So"]),
        ("Who asks first gets it.", &["Who"]),
        ("Maximum number. So the others wait. Who asks?", &[]),
        ("Something is stored.", &[]),
        ("A text that is no number", &["is no"]),
        ("Names that\n/// are\n/// no paths", &["are no"]),
        ("`a` is no `b`", &["is no"]),
        ("There is no page, and there are no tabs.", &[]),
        ("It is no longer open, and is no more than a page.", &[]),
        ("It is nonsense.", &[]),
        ("Hears every change.", &["Hears"]),
        ("The bridge hears of it.", &["hears"]),
        ("The client is told why.", &["told"]),
        ("It goes on with the call.", &["goes on"]),
        ("It goes once. It got one.", &[]),
        ("It is not waited for for long.", &["for for"]),
        ("It is there, too.", &[", too."]),
        ("There, too, it waits", &[", too,"]),
        ("It waits (there, too)", &[", too)"]),
        ("It has, too many of them.", &[]),
        ("Nobody waits.", &["Nobody"]),
        ("It has `nobody` as its user.", &[]),
        ("A thread of its own", &["of its own"]),
        ("Threads of their\n/// own", &["of their own"]),
        ("Its own thread", &[]),
        ("Sent as it is.", &["as it is"]),
        ("As long as it is open, or as soon as it was sent.", &[]),
        ("It ends. What is late is dropped.", &["What is"]),
        ("It ends. What is late?", &[]),
        ("It shows what is late.", &[]),
    ];

    #[test]
    fn each_pattern_is_found_where_it_is_meant() {
        let table = Table::new(RULES).unwrap();
        for (comment, expected) in CASES {
            let file = format!("/// {comment}\nstruct A;\n");
            let found: Vec<_> = paragraphs("a.rs", &file)
                .iter()
                .flat_map(|paragraph| table.violations_in(paragraph))
                .map(|(_, words, _)| words)
                .collect();
            assert_eq!(&found, expected, "{comment}");
        }
    }

    #[test]
    fn a_violation_names_its_line_and_what_to_write() {
        let table = Table::new(RULES).unwrap();
        assert_eq!(
            table.violations("docs/a.md", "# Title\n\nOne word\nis told."),
            ["docs/a.md:4: \"told\": write `notified of …`, `sent …` or `distinguished`"]
        );
        let test = "#[test]\nfn a_file_that_is_no_image_is_refused() {}";
        assert_eq!(table.violations("a.rs", test).len(), 1);
        assert_eq!(table.violations("a.json", "is told"), [""; 0]);
    }
}
