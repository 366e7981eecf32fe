//! Parses an outline back into nodes. It shares no code with the writer.

/// A node as a reader sees it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Parsed {
    pub(crate) role: String,
    pub(crate) name: Option<String>,
    /// The keys with their values, in their order: `("ref", "e1")`, `("disabled", "")`.
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) content: Content,
}

/// The content after the colon.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Content {
    #[default]
    Nothing,
    Scalar(String),
    List(Vec<String>),
    Children(Vec<Parsed>),
}

/// Returns the header, the nodes, the number of omitted elements, and the footer.
pub(crate) fn parse(text: &str) -> (String, Vec<Parsed>, Option<usize>, String) {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let header = lines.remove(0).to_owned();
    let footer = lines.pop().unwrap().to_owned();
    let mut more = None;
    if let Some(line) = lines.last().filter(|line| line.starts_with('(')) {
        let (count, rest) = line[1..].split_once(" more element").unwrap();
        assert!(rest.trim_start_matches('s').starts_with(": page_query, or"));
        more = Some(count.parse().unwrap());
        lines.pop();
    }
    let mut position = 0;
    let nodes = parse_siblings(&lines, &mut position, 0);
    assert_eq!(position, lines.len(), "everything is parsed: {text}");
    (header, nodes, more, footer)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn parse_siblings(lines: &[&str], position: &mut usize, indent: usize) -> Vec<Parsed> {
    let mut siblings = Vec::new();
    while *position < lines.len() && indent_of(lines[*position]) == indent {
        let line = lines[*position][indent..]
            .strip_prefix("- ")
            .expect("a line is an item");
        *position += 1;
        let (mut node, rest) = parse_key(line);
        node.content = match rest {
            "" => Content::Nothing,
            ":" => Content::Children(parse_siblings(lines, position, indent + 2)),
            ": |" => Content::Scalar(parse_block(lines, position, indent + 4)),
            rest => parse_inline(rest.strip_prefix(": ").expect("a scalar follows a colon")),
        };
        siblings.push(node);
    }
    siblings
}

fn parse_block(lines: &[&str], position: &mut usize, indent: usize) -> String {
    let mut block = Vec::new();
    while *position < lines.len() {
        let line = lines[*position];
        if line.is_empty() {
            block.push("");
        } else if indent_of(line) >= indent {
            block.push(&line[indent..]);
        } else {
            break;
        }
        *position += 1;
    }
    block.join("\n")
}

fn parse_inline(text: &str) -> Content {
    if text.starts_with('"') {
        let (value, rest) = parse_string(text);
        assert_eq!(rest, "");
        return Content::Scalar(value);
    }
    if let Some(mut rest) = text.strip_prefix('[') {
        let mut items = Vec::new();
        while !rest.starts_with(']') {
            let (value, after) = parse_string(rest.trim_start_matches(", "));
            items.push(value);
            rest = after;
        }
        assert_eq!(rest, "]");
        return Content::List(items);
    }
    Content::Scalar(text.to_owned())
}

/// Parses the part before the colon, and returns the rest of the line.
fn parse_key(line: &str) -> (Parsed, &str) {
    if let Some(quoted) = line.strip_prefix('\'') {
        let mut end = 0;
        loop {
            end += quoted[end..].find('\'').expect("the quote has an end");
            if !quoted[end + 1..].starts_with('\'') {
                break;
            }
            end += 2;
        }
        let (node, rest) = parse_node(&quoted[..end].replace("''", "'"));
        assert_eq!(rest, "");
        return (node, &quoted[end + 1..]);
    }
    let (node, rest) = parse_node(line);
    let length = rest.len();
    (node, &line[line.len() - length..])
}

fn parse_node(text: &str) -> (Parsed, String) {
    let end = text.find([' ', ':']).unwrap_or(text.len());
    let mut node = Parsed {
        role: text[..end].to_owned(),
        ..Parsed::default()
    };
    let mut rest = &text[end..];
    if rest.starts_with(" \"") {
        let (name, after) = parse_string(&rest[1..]);
        node.name = Some(name);
        rest = after;
    }
    while let Some(key) = rest.strip_prefix(" [") {
        let end = key.find(['=', ']']).unwrap();
        let name = key[..end].to_owned();
        let (value, after) = match &key[end..] {
            tail if tail.starts_with(']') => (String::new(), &tail[1..]),
            tail if tail.starts_with("=\"") => {
                let (value, after) = parse_string(&tail[1..]);
                (value, after.strip_prefix(']').unwrap())
            }
            tail => {
                let (value, after) = tail[1..].split_once(']').unwrap();
                (value.to_owned(), after)
            }
        };
        node.keys.push((name, value));
        rest = after;
    }
    (node, rest.to_owned())
}

/// Parses a JSON string at the start of a text, and returns the rest.
fn parse_string(text: &str) -> (String, &str) {
    let mut chars = text.char_indices().skip(1);
    let mut value = String::new();
    while let Some((index, character)) = chars.next() {
        match character {
            '"' => return (value, &text[index + 1..]),
            '\\' => match chars.next().unwrap().1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    panic!("a string has no end: {text}");
}
