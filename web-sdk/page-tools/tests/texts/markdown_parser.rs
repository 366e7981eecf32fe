//! Parses markdown with elements back into nodes. It shares no code with the writer.

/// An element as a reader sees it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Element {
    pub(crate) tag: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// The label of an input, or the text of a display.
    pub(crate) label: String,
    pub(crate) values: Vec<String>,
    /// `Error: …`, `Description: …` and `Options: …`.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) children: Vec<Child>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Child {
    Text(String),
    Element(Element),
}

/// Returns the part between the header and the footer.
pub(crate) fn parse(text: &str) -> Vec<Child> {
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(lines[0].starts_with("# ") && lines[1].starts_with("Page: ") && lines[2].is_empty());
    let mut parser = Parser { lines, position: 3 };
    let children = parser.children();
    if parser.line().starts_with('(') {
        parser.position += 1;
    }
    assert!(
        parser.line().starts_with("End of page "),
        "{}",
        parser.line()
    );
    assert_eq!(
        parser.position + 1,
        parser.lines.len(),
        "everything is parsed: {text}"
    );
    children
}

struct Parser<'a> {
    lines: Vec<&'a str>,
    position: usize,
}

impl<'a> Parser<'a> {
    fn line(&self) -> &'a str {
        self.lines[self.position]
    }

    fn next_line(&mut self) -> &'a str {
        self.position += 1;
        self.lines[self.position - 1]
    }

    fn children(&mut self) -> Vec<Child> {
        let mut children: Vec<Child> = Vec::new();
        let mut is_after_text = false;
        loop {
            let line = self.line();
            if line.starts_with("</") || line.starts_with('(') || line.starts_with("End of page") {
                return children;
            }
            if line.starts_with("**Item ") {
                self.position += 1;
                is_after_text = false;
            } else if line.starts_with('<') {
                children.push(Child::Element(self.element()));
                is_after_text = false;
            } else {
                let text = unescape(self.next_line());
                match children.last_mut() {
                    Some(Child::Text(before)) if is_after_text => {
                        before.push('\n');
                        before.push_str(&text);
                    }
                    _ => children.push(Child::Text(text)),
                }
                is_after_text = true;
            }
        }
    }

    fn element(&mut self) -> Element {
        let line = self.next_line();
        let (mut element, rest) = parse_tag(line);
        let end = format!("</{}>", element.tag);
        if let Some(label) = rest.strip_suffix(end.as_str()) {
            element.label = unescape(label);
            return element;
        }
        if element.tag == "input" {
            assert_eq!(rest, "");
            element.label = unescape(self.next_line());
        } else {
            element.label = unescape(rest);
        }
        while self.line().starts_with("```") {
            let opening = self.next_line();
            let fence: String = opening.chars().take_while(|it| *it == '`').collect();
            let mut value = Vec::new();
            while self.line() != fence {
                value.push(self.next_line());
            }
            self.position += 1;
            element.values.push(value.join("\n"));
        }
        for field in ["Options", "Error", "Description"] {
            if let Some(text) = self.line().strip_prefix(&format!("{field}: ")) {
                element.fields.push((field.into(), unescape(text)));
                self.position += 1;
            }
        }
        element.children = self.children();
        assert_eq!(self.next_line(), end);
        element
    }
}

fn parse_tag(line: &str) -> (Element, &str) {
    let (tag, rest) = line[1..].split_once('>').expect("a tag has an end");
    let mut words = tag.splitn(2, ' ');
    let mut element = Element {
        tag: words.next().unwrap().into(),
        ..Element::default()
    };
    let mut attributes = words.next().unwrap_or_default();
    while !attributes.is_empty() {
        let end = attributes.find([' ', '=']).unwrap_or(attributes.len());
        let name = attributes[..end].to_owned();
        let (value, after) = match attributes[end..].strip_prefix('=') {
            None => (String::new(), &attributes[end..]),
            Some(quoted) if quoted.starts_with('"') => {
                let (value, after) = quoted[1..].split_once('"').unwrap();
                (unescape(value), after)
            }
            Some(list) => {
                let (value, after) = list.split_once(']').unwrap();
                (value[1..].to_owned(), after)
            }
        };
        element.attributes.push((name, value));
        attributes = after.trim_start_matches(' ');
    }
    (element, rest)
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("&#") {
        out.push_str(before);
        let (code, tail) = after.split_once(';').expect("an entity has an end");
        out.push(char::from_u32(code.parse().unwrap()).unwrap());
        rest = tail;
    }
    out + rest
}
