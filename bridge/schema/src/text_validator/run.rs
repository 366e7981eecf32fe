//! Applies a [`Program`] to a text.

use serde_json::Value;

use super::cursor::{Cursor, JsonNumber, JsonString, MAX_DEPTH, NumberSpelling, Stop};
use super::program::{
    ANY, ARRAY, ArrayRules, BOOLEAN, InPlace, NULL, NUMBER, Node, NodeId, NumberRules, OBJECT,
    ObjectRules, Program, STRING, StringRules, Types,
};

/// The maximum number of subschemas around each other that apply to the same value, in all values
/// around each other. Each takes up to a kilobyte of stack.
const MAX_IN_PLACE: usize = 200;

/// This many bytes of text cost one step.
const BYTES_PER_STEP: u64 = 16;

/// The maximum number of members of an object whose names are compared with each other, and of
/// items of an array.
const MAX_COMPARED: usize = 64;

/// The maximum number of valid strings that are compared one after the other.
const MAX_SCANNED_CHOICES: usize = 8;

/// The verdict of the pass over a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextVerdict {
    Valid,
    Invalid,
    /// The text must be parsed to decide.
    Undecided,
    /// The pass has stopped, because it would take too many steps.
    TooCostly,
}

pub(super) fn run(program: &Program, json: &str, max_steps: u64) -> TextVerdict {
    let mut run = Run {
        nodes: &program.nodes,
        cursor: Cursor::new(json),
        steps: max_steps,
        depth: 0,
        in_place: 0,
        exact: false,
        hashes: Vec::new(),
        text: Value::Null,
    };
    match run.document(program.root, json.len()) {
        Ok(()) => TextVerdict::Valid,
        Err(Stop::Invalid) => TextVerdict::Invalid,
        Err(Stop::Undecided) => TextVerdict::Undecided,
        Err(Stop::TooCostly) => TextVerdict::TooCostly,
    }
}

struct Run<'a> {
    nodes: &'a [Node],
    cursor: Cursor<'a>,
    /// The steps that remain.
    steps: u64,
    /// The number of open arrays and objects.
    depth: usize,
    /// The number of subschemas around each other that apply to the same value.
    in_place: usize,
    /// Whether that a subschema is invalid may make the value valid, so that no name may occur
    /// twice.
    exact: bool,
    /// The hashes of the names of open objects, and of the items of open arrays, as far as they
    /// must differ.
    hashes: Vec<u32>,
    /// The string about which the crate decides.
    text: Value,
}

/// The members of an object that have been read.
struct Members {
    /// Whether no name may occur twice.
    must_differ: bool,
    /// Where the hashes of its names begin.
    hashes: usize,
    count: usize,
    /// The bits of the required properties that it has.
    seen: u64,
    /// The index of the property that is likely to be next.
    next: usize,
}

impl<'a> Run<'a> {
    fn document(&mut self, root: NodeId, bytes: usize) -> Result<(), Stop> {
        self.spend_bytes(bytes)?;
        self.cursor.skip_white_space();
        self.value(root)?;
        self.cursor.finish()
    }

    fn spend(&mut self, steps: u64) -> Result<(), Stop> {
        self.steps = self.steps.checked_sub(steps).ok_or(Stop::TooCostly)?;
        Ok(())
    }

    fn spend_bytes(&mut self, bytes: usize) -> Result<(), Stop> {
        self.spend(bytes as u64 / BYTES_PER_STEP)
    }

    /// Applies a subschema to the value that begins here. If it is valid, the cursor is after it.
    ///
    /// The values of most members are strings, numbers and literals: these are read without a call of a
    /// function that may call itself.
    #[inline(always)]
    fn value(&mut self, id: NodeId) -> Result<(), Stop> {
        if id == ANY && !self.exact {
            return self.cursor.skip_value(self.depth);
        }
        let nodes = self.nodes;
        let node = nodes.get(id as usize).ok_or(Stop::Undecided)?;
        self.spend(node.cost)?;
        match &node.in_place {
            None => self.own_rules(node),
            Some(in_place) => self.value_with_in_place(node, in_place),
        }
    }

    #[inline(never)]
    fn value_with_in_place(&mut self, node: &'a Node, in_place: &InPlace) -> Result<(), Stop> {
        let begin = self.cursor.position;
        if !node.has_only_in_place() {
            self.own_rules(node)?;
        }
        if self.in_place == MAX_IN_PLACE {
            return Err(Stop::Undecided);
        }
        self.in_place += 1;
        self.in_place_rules(in_place, begin)?;
        self.in_place -= 1;
        Ok(())
    }

    /// Applies the rules of a subschema without those of the subschemas in it for the same value.
    #[inline(always)]
    fn own_rules(&mut self, node: &'a Node) -> Result<(), Stop> {
        let types = types_of(self.cursor.peek());
        if types & node.types == 0 {
            return Err(stop_if_value(types));
        }
        match types {
            STRING => {
                let begin = self.cursor.position;
                let spelling = self.cursor.skip_string()?;
                match &node.string {
                    Some(rules) => self.string(rules, self.cursor.string_since(begin, spelling)),
                    None => Ok(()),
                }
            }
            OBJECT => self.object(node.object.as_deref()),
            ARRAY => self.array(node.array.as_deref()),
            NULL => self.cursor.literal(b"null"),
            BOOLEAN => {
                let value = self.cursor.peek() == b't';
                if value {
                    self.cursor.literal(b"true")?;
                } else {
                    self.cursor.literal(b"false")?;
                }
                valid_if(node.booleans[usize::from(value)])
            }
            _ => {
                let begin = self.cursor.position;
                let spelling = self.cursor.skip_number()?;
                match &node.number {
                    Some(rules) => self.number(rules, begin, spelling),
                    None => Ok(()),
                }
            }
        }
    }

    /// Applies subschemas to the value that begins at `begin`.
    fn in_place_rules(&mut self, rules: &InPlace, begin: usize) -> Result<(), Stop> {
        for node in &rules.all {
            self.pass(*node, begin)?;
        }
        if let Some(branches) = &rules.any {
            self.any_of(branches, begin)?;
        }
        if let Some(branches) = &rules.one {
            let was_exact = std::mem::replace(&mut self.exact, true);
            self.one_of(branches, begin)?;
            self.exact = was_exact;
        }
        Ok(())
    }

    fn any_of(&mut self, branches: &[NodeId], begin: usize) -> Result<(), Stop> {
        for branch in branches {
            if self.try_pass(*branch, begin)? {
                return Ok(());
            }
        }
        Err(Stop::Invalid)
    }

    fn one_of(&mut self, branches: &[NodeId], begin: usize) -> Result<(), Stop> {
        let mut end = None;
        for branch in branches {
            if self.try_pass(*branch, begin)? {
                if end.is_some() {
                    return Err(Stop::Invalid);
                }
                end = Some(self.cursor.position);
            }
        }
        self.cursor.position = end.ok_or(Stop::Invalid)?;
        Ok(())
    }

    /// Whether a subschema accepts the value that begins at `begin`.
    fn try_pass(&mut self, id: NodeId, begin: usize) -> Result<bool, Stop> {
        self.cursor.position = begin;
        let types = types_of(self.cursor.peek());
        let node = self.nodes.get(id as usize).ok_or(Stop::Undecided)?;
        if types & node.types == 0 && types != 0 {
            self.spend(1)?;
            return Ok(false);
        }
        let (depth, in_place, exact) = (self.depth, self.in_place, self.exact);
        let hashes = self.hashes.len();
        let outcome = self.pass(id, begin);
        match outcome {
            Ok(()) => Ok(true),
            Err(Stop::Invalid) => {
                (self.depth, self.in_place, self.exact) = (depth, in_place, exact);
                self.hashes.truncate(hashes);
                Ok(false)
            }
            Err(stop) => Err(stop),
        }
    }

    /// Applies a subschema to the value that begins at `begin`, which has been read before.
    fn pass(&mut self, node: NodeId, begin: usize) -> Result<(), Stop> {
        self.cursor.position = begin;
        let outcome = self.value(node);
        self.spend_bytes(self.cursor.position - begin)?;
        outcome
    }

    fn enter(&mut self) -> Result<(), Stop> {
        self.cursor.position += 1;
        self.cursor.skip_white_space();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Undecided);
        }
        Ok(())
    }

    fn array(&mut self, rules: Option<&'a ArrayRules>) -> Result<(), Stop> {
        if rules.is_none() && !self.exact {
            return self.cursor.skip_value(self.depth);
        }
        self.enter()?;
        let hashes = self.hashes.len();
        let mut count = 0;
        if !self.cursor.skip_if(b']') {
            loop {
                let node = rules.map_or(ANY, |rules| {
                    rules.prefix.get(count).copied().unwrap_or(rules.items)
                });
                count += 1;
                let begin = self.cursor.position;
                self.value(node)?;
                if rules.is_some_and(|rules| rules.unique_items) {
                    self.add_item(begin, hashes)?;
                }
                self.cursor.skip_white_space();
                if !self.cursor.skip_if(b',') {
                    self.cursor.expect(b']')?;
                    break;
                }
                self.cursor.skip_white_space();
            }
        }
        self.depth -= 1;
        self.hashes.truncate(hashes);
        valid_if(rules.is_none_or(|rules| (rules.min_items..=rules.max_items).contains(&count)))
    }

    /// Adds the item that has been read to those of its array, which must differ. Only plain
    /// strings, short integers and literals are compared, and only their hashes.
    fn add_item(&mut self, begin: usize, others: usize) -> Result<(), Stop> {
        let end = self.cursor.position;
        self.cursor.position = begin;
        let first = self.cursor.peek();
        let hash = match types_of(first) {
            STRING => {
                let string = self.cursor.string()?.plain().ok_or(Stop::Undecided)?;
                hash(string.as_bytes(), 1)
            }
            NUMBER => match self.cursor.number()? {
                JsonNumber::Integer(digits) => hash(&digits.value().to_le_bytes(), 2),
                JsonNumber::Other(_) => return Err(Stop::Undecided),
            },
            NULL | BOOLEAN => hash(&[first], 3),
            _ => return Err(Stop::Undecided),
        };
        self.cursor.position = end;
        self.add_hash(hash, others)
    }

    /// Adds a hash to those from `others` on, which must differ.
    fn add_hash(&mut self, hash: u32, others: usize) -> Result<(), Stop> {
        let others = &self.hashes[others..];
        if others.len() == MAX_COMPARED || others.contains(&hash) {
            return Err(Stop::Undecided);
        }
        self.hashes.push(hash);
        Ok(())
    }

    fn object(&mut self, rules: Option<&'a ObjectRules>) -> Result<(), Stop> {
        match rules {
            Some(rules) => self.object_members(rules),
            None if self.exact => self.unruled_members(),
            None => self.cursor.skip_value(self.depth),
        }
    }

    /// Reads an object without rules whose names must differ.
    fn unruled_members(&mut self) -> Result<(), Stop> {
        self.enter()?;
        let hashes = self.hashes.len();
        if !self.cursor.skip_if(b'}') {
            loop {
                let mut unescaped = String::new();
                let name = self.cursor.string()?.content(&mut unescaped)?;
                self.add_hash(hash(name.as_bytes(), 0), hashes)?;
                self.cursor.skip_colon()?;
                self.value(ANY)?;
                if !self.next_member()? {
                    break;
                }
            }
        }
        self.depth -= 1;
        self.hashes.truncate(hashes);
        Ok(())
    }

    /// Reads what follows a member: a comma before the next one, or the end of the object.
    #[inline(always)]
    fn next_member(&mut self) -> Result<bool, Stop> {
        self.cursor.skip_white_space();
        if self.cursor.skip_if(b',') {
            self.cursor.skip_white_space();
            return Ok(true);
        }
        self.cursor.expect(b'}')?;
        Ok(false)
    }

    fn object_members(&mut self, rules: &'a ObjectRules) -> Result<(), Stop> {
        self.enter()?;
        let mut members = Members {
            must_differ: self.exact || rules.min_properties > 1,
            hashes: self.hashes.len(),
            count: 0,
            seen: 0,
            next: 0,
        };
        if !self.cursor.skip_if(b'}') {
            loop {
                members.count += 1;
                self.member(rules, &mut members)?;
                if !self.next_member()? {
                    break;
                }
            }
        }
        self.depth -= 1;
        self.hashes.truncate(members.hashes);
        self.spend(members.count as u64)?;
        let sizes = rules.min_properties..=rules.max_properties;
        let has_required = members.seen & rules.required == rules.required;
        valid_if(has_required && sizes.contains(&members.count))
    }

    /// Reads a member, up to the comma after it.
    #[inline(always)]
    fn member(&mut self, rules: &'a ObjectRules, members: &mut Members) -> Result<(), Stop> {
        let needs_name = members.must_differ || rules.has_name_rules();
        if let Some(property) = rules.properties.get(members.next).filter(|_| !needs_name)
            && let Some(key) = &property.key
            && let Some(length) = key.prefix_len(self.cursor.rest())
        {
            members.next += 1;
            members.seen |= property.required;
            self.cursor.position += length;
            self.cursor.skip_white_space();
            return self.value(property.node.unwrap_or(rules.additional));
        }
        let begin = self.cursor.position;
        let mut unescaped = String::new();
        let name = self.cursor.string()?.content(&mut unescaped)?;
        if members.must_differ {
            self.add_hash(hash(name.as_bytes(), 0), members.hashes)?;
        }
        let mut node = None;
        if let Some(index) = rules.find(name) {
            let property = &rules.properties[index];
            members.next = index + 1;
            members.seen |= property.required;
            node = property.node;
        }
        if rules.has_name_rules() {
            return self.named_member(rules, name, begin, node);
        }
        self.cursor.skip_colon()?;
        self.value(node.unwrap_or(rules.additional))
    }

    /// Applies the rules that depend on the name of a member, which begins at `begin`, and reads
    /// the member from the colon on.
    fn named_member(
        &mut self,
        rules: &'a ObjectRules,
        name: &str,
        begin: usize,
        node: Option<NodeId>,
    ) -> Result<(), Stop> {
        if rules.names != ANY {
            let end = self.cursor.position;
            self.pass(rules.names, begin)?;
            self.cursor.position = end;
        }
        self.cursor.skip_colon()?;
        let value = self.cursor.position;
        let mut is_named = false;
        if let Some(node) = node {
            is_named = true;
            self.value(node)?;
        }
        if !rules.patterns.is_empty() {
            self.spend(rules.cost.for_name(name))?;
            for pattern in &rules.patterns {
                set_text(&mut self.text, name);
                if pattern
                    .pattern
                    .is_valid(&self.text)
                    .ok_or(Stop::Undecided)?
                {
                    if is_named {
                        self.pass(pattern.node, value)?;
                    } else {
                        self.value(pattern.node)?;
                    }
                    is_named = true;
                }
            }
        }
        if is_named {
            Ok(())
        } else {
            self.value(rules.additional)
        }
    }

    fn string(&mut self, rules: &StringRules, string: JsonString<'_>) -> Result<(), Stop> {
        if let Some(text) = string.plain() {
            return self.string_content(rules, text);
        }
        let mut unescaped = String::new();
        self.string_content(rules, string.content(&mut unescaped)?)
    }

    fn string_content(&mut self, rules: &StringRules, text: &str) -> Result<(), Stop> {
        self.spend(rules.cost.for_text(text))?;
        if let Some(choices) = &rules.choices {
            let is_choice = if choices.len() <= MAX_SCANNED_CHOICES {
                choices.iter().any(|choice| **choice == *text)
            } else {
                choices
                    .binary_search_by(|choice| (**choice).cmp(text))
                    .is_ok()
            };
            valid_if(is_choice)?;
        }
        // A code point has one to four bytes.
        let is_long_enough =
            text.len() / 4 >= rules.min_length || text.chars().count() >= rules.min_length;
        let is_short_enough =
            text.len() <= rules.max_length || text.chars().count() <= rules.max_length;
        valid_if(is_long_enough && is_short_enough)?;
        match &rules.by_crate {
            Some(rule) => {
                set_text(&mut self.text, text);
                valid_if(rule.is_valid(&self.text).ok_or(Stop::Undecided)?)
            }
            None => Ok(()),
        }
    }

    /// Applies rules to the number that began at `begin` and has been read.
    #[inline(always)]
    fn number(
        &mut self,
        rules: &NumberRules,
        begin: usize,
        spelling: NumberSpelling,
    ) -> Result<(), Stop> {
        if let (NumberSpelling::Integer, Some(rules)) = (spelling, &rules.integers)
            && rules.accept_all()
        {
            return Ok(());
        }
        self.number_rules(rules, self.cursor.number_since(begin, spelling))
    }

    fn number_rules(&mut self, rules: &NumberRules, number: JsonNumber<'_>) -> Result<(), Stop> {
        if let (JsonNumber::Integer(digits), Some(rules)) = (number, &rules.integers) {
            let integer = digits.value();
            let is_choice = rules
                .choices
                .as_ref()
                .is_none_or(|choices| choices.contains(&integer));
            return valid_if(
                is_choice
                    && (rules.minimum..=rules.maximum).contains(&integer)
                    && integer % rules.multiple_of == 0,
            );
        }
        let value = Value::Number(number.parse()?);
        valid_if(rules.by_crate.is_valid(&value).ok_or(Stop::Undecided)?)
    }
}

/// The types of a value that begins with a byte; 0 if none does.
#[inline(always)]
fn types_of(first: u8) -> Types {
    match first {
        b'"' => STRING,
        b'{' => OBJECT,
        b'[' => ARRAY,
        b'-' | b'0'..=b'9' => NUMBER,
        b't' | b'f' => BOOLEAN,
        b'n' => NULL,
        _ => 0,
    }
}

/// Why a value of these types is not accepted where no type of them is.
fn stop_if_value(types: Types) -> Stop {
    match types {
        0 => Stop::Undecided,
        _ => Stop::Invalid,
    }
}

#[inline(always)]
fn valid_if(condition: bool) -> Result<(), Stop> {
    if condition {
        Ok(())
    } else {
        Err(Stop::Invalid)
    }
}

/// Replaces the content of a string without a new allocation.
fn set_text(value: &mut Value, text: &str) {
    match value {
        Value::String(content) => {
            content.clear();
            content.push_str(text);
        }
        _ => *value = Value::String(text.to_owned()),
    }
}

/// A hash (FNV-1a) of some bytes and their type.
fn hash(bytes: &[u8], of: u8) -> u32 {
    let bytes = bytes.iter().chain(std::iter::once(&of));
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}
