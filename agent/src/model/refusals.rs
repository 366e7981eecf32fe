//! Reads what an error of a server refuses: a part of the request without which the turn is possible.
//!
//! An error may quote the words of a person, a schema or a page. They must not decide what others get,
//! so that only the server's own words are searched, and a refusal has a [`Scope`].

use serde_json::{Map, Value};

use super::capabilities::{Capability, UsedCapabilities};
use super::error_classification::{
    error_of, is_declined, is_input_too_long, parse_body, upstream_error, without_quotation,
};

/// A part of a request that a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) capability: Capability,
    pub(super) scope: Scope,
}

/// The requests to which a refusal applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of the same query: its words, schema or history may be the reason.
    Query,
    /// Those of the same query, and all after some users have had the refusal.
    Users,
    /// All: the server does not have the field, or the model does not support it.
    Server,
}

impl Refusal {
    /// Returns the refusals of an error, if it names capabilities that the request uses. They are
    /// several only if it names a field around them.
    pub(super) fn find(
        error: &str,
        request: &Map<String, Value>,
        used: UsedCapabilities,
    ) -> Vec<Self> {
        let body = parse_body(error);
        // An error about the length may name what takes the room.
        if is_declined(&body) || is_input_too_long(&body) {
            return Vec::new();
        }
        let used = Capability::ALL.map(|it| it.is_used(request, used).then_some(it));
        let used: Vec<_> = used.into_iter().flatten().collect();
        let model = request.get("model").and_then(Value::as_str);
        let find = |body: &Value| {
            let statements = Statement::read_all(body).into_iter();
            let mut statements = statements.map(|it| it.without_model(model.unwrap_or_default()));
            let refusals = |it: Statement| it.refusals(&used, request);
            statements.find_map(|it| Some(refusals(it)).filter(|it| !it.is_empty()))
        };
        let upstream = || {
            // A router can pass the error of another server the next time.
            let mut refusals = find(&upstream_error(&body)?)?;
            refusals.iter_mut().for_each(|it| it.scope = Scope::Query);
            Some(refusals)
        };
        find(&body).or_else(upstream).unwrap_or_default()
    }
}

/// The fields of a request whose content is that of people, pages and models. An error about them
/// refuses no other field, even if its words are those of one.
const CONTENT: [&str; 9] = [
    "messages",
    "input",
    "contents",
    "prompt",
    "system",
    "instructions",
    "tools",
    "functions",
    "model",
];

/// Parts of errors that name a capability and do not refuse it.
const NOT_REFUSING: [&str; 7] = [
    // OpenAI, Anthropic and Gemini about a tool, with its name or keywords of its schema
    "invalid schema for function",
    "input_schema",
    "function_declarations",
    // Groq about a call of the model, which it quotes
    "failed_generation",
    // OpenAI and Anthropic about the name of a tool that must be called
    "not found in",
    // DeepSeek and OpenRouter, which need more thoughts and not fewer
    "must be passed back",
    "to be preserved in each request",
];

/// Parts of errors about a schema. Other words in them may be those of the schema.
const SCHEMA: [&str; 4] = ["schema", "grammar", "too many states", "too complex"];

/// The codes of errors with which a server does not support a field or its value.
const UNSUPPORTED_CODES: [&str; 3] = [
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
];

/// The words with which a server does not support something.
const UNSUPPORTED: [&str; 4] = ["not support", "unsupported", "not enabled", "deprecated"];

/// The words with which a server does not know a field.
const UNKNOWN: [&str; 4] = ["extra inputs", "unknown", "unrecognized", "unexpected"];

/// The kinds of thinking, which Anthropic writes into the path of a field as if they were fields.
const KINDS_OF_THINKING: [&str; 3] = [
    "thinking.adaptive.",
    "thinking.enabled.",
    "thinking.disabled.",
];

/// The words of an error about one place in the request, in lower case.
#[derive(Debug)]
struct Statement {
    /// The path of the field, or nothing.
    place: String,
    text: String,
    code: String,
    /// Whether the text has the name of the model in quotation marks.
    quotes_model: bool,
}

impl Statement {
    /// Reads an error in the format of any provider, without what it repeats of the request, such as
    /// the `input` of a validation in Python.
    fn read_all(body: &Value) -> Vec<Self> {
        let error = error_of(body);
        let string = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let details = [error.get("detail"), error.pointer("/message/detail")];
        if let Some(details) = details.into_iter().flatten().find_map(Value::as_array) {
            let text = |detail: &Value| detail.get("msg")?.as_str().map(str::to_owned);
            let read = |detail| Self::new(&location(detail), &text(detail).unwrap_or_default(), "");
            return details.iter().map(read).collect();
        }
        let text = match error {
            Value::String(text) => text,
            _ if error.get("message").is_some() => string("message"),
            _ => string("detail"),
        };
        vec![Self::new(string("param"), text, string("code"))]
    }

    fn new(place: &str, text: &str, code: &str) -> Self {
        let text = without_quotation(text).to_ascii_lowercase();
        let place = match place {
            "" => leading_path(&text).unwrap_or_default().to_owned(),
            place => place.to_ascii_lowercase(),
        };
        let bodies = ["body.", "generatecontentrequest."];
        let in_body = bodies.iter().find_map(|body| place.strip_prefix(body));
        let place = in_body.unwrap_or(&place);
        let mut kinds = KINDS_OF_THINKING.iter();
        let of_kind = kinds.find_map(|kind| place.strip_prefix(kind));
        Self {
            place: of_kind.map_or_else(|| place.to_owned(), |field| format!("thinking.{field}")),
            text,
            code: code.to_owned(),
            quotes_model: false,
        }
    }

    /// Notes and removes the name of the model, which may contain that of a capability:
    /// `kimi-k2-thinking`.
    fn without_model(mut self, model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let quotes = ['"', '\'', '`'].into_iter();
        let mut quoted = quotes.map(|quote| format!("{quote}{model}{quote}"));
        self.quotes_model = !model.is_empty() && quoted.any(|model| self.text.contains(&model));
        let mut names = Capability::ALL.into_iter().flat_map(Capability::names);
        if names.any(|name| model.contains(name)) {
            self.text = self.text.replace(&model, "");
        }
        self
    }

    fn refusals(&self, used: &[Capability], request: &Map<String, Value>) -> Vec<Refusal> {
        if self.contains(&NOT_REFUSING) {
            return Vec::new();
        }
        let around = self.refusals_around(used, request);
        if around.is_empty() {
            self.refusal(used).into_iter().collect()
        } else {
            around
        }
    }

    /// Returns the refusals of the fields of the request within the place, which is that of an object:
    /// `output_config: Extra inputs are not permitted`.
    fn refusals_around(&self, used: &[Capability], request: &Map<String, Value>) -> Vec<Refusal> {
        let is_inner = |field: &&str| {
            !self.place.is_empty()
                && !is_within(&self.place, field)
                && is_within(field, &self.place)
                && has_field(request, field)
        };
        let all = Capability::ALL.into_iter().flat_map(Capability::fields);
        // A separate field, such as `reasoning`, is one capability with all in it.
        if all.into_iter().any(|field| is_within(&self.place, field)) {
            return Vec::new();
        }
        let used = used.iter().filter(|it| it.fields().iter().any(&is_inner));
        let is_unknown = self.contains(&UNKNOWN) || self.contains(&UNSUPPORTED);
        let scope = |it: Capability| match self.at_place(it).scope {
            // The server does not have the object at all.
            _ if is_unknown && !self.contains(&SCHEMA) => Scope::Server,
            scope => scope,
        };
        used.map(|&capability| Refusal {
            capability,
            scope: scope(capability),
        })
        .collect()
    }

    fn refusal(&self, used: &[Capability]) -> Option<Refusal> {
        let mut used = used.iter().copied();
        let is_at = |it: Capability| {
            it.fields()
                .iter()
                .any(|field| is_within(&self.place, field))
        };
        if Capability::ALL.into_iter().any(is_at) {
            return used.find(|it| is_at(*it)).map(|it| self.at_place(it));
        }
        let root = self.place.split(['.', '[']).next().unwrap_or_default();
        if CONTENT.contains(&root) {
            let is_named = |name: &&str| self.text.contains(name) || self.place.contains(name);
            let capability = used.find(|it| it.names_in_messages().iter().any(is_named))?;
            return Some(of_query(capability));
        }
        let is_about_schema = self.contains(&SCHEMA);
        let capability = used.find(|it| {
            let may_be_named = it.is_format() || !is_about_schema;
            may_be_named && self.contains(it.names())
        })?;
        let is_unsupported = self.contains(&UNSUPPORTED);
        let names_model = self.text.contains("model") || self.quotes_model;
        Some(
            if capability.is_of_server()
                || UNSUPPORTED_CODES.contains(&&*self.code)
                || is_unsupported && names_model
            {
                self.at_place(capability)
            } else if is_unsupported && self.at_place(capability).scope == Scope::Server {
                Refusal {
                    capability,
                    scope: Scope::Users,
                }
            } else {
                of_query(capability)
            },
        )
    }

    /// Returns the refusal of a field.
    fn at_place(&self, capability: Capability) -> Refusal {
        let scope = if capability.depends_on_query() || self.contains(&SCHEMA) {
            Scope::Query
        } else {
            Scope::Server
        };
        Refusal { capability, scope }
    }

    fn contains(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.text.contains(part))
    }
}

fn of_query(capability: Capability) -> Refusal {
    Refusal {
        capability,
        scope: Scope::Query,
    }
}

/// Returns the path at the beginning of a text, as Anthropic writes it: `thinking.type: …`.
fn leading_path(text: &str) -> Option<&str> {
    let (path, _) = text.split_once(':')?;
    let is_part = |part: char| part.is_ascii_alphanumeric() || "._[]".contains(part);
    path.chars().all(is_part).then_some(path)
}

/// Returns the path of a validation error in Python: `["body", "stream_options"]`.
fn location(detail: &Value) -> String {
    let parts = detail.get("loc").and_then(Value::as_array);
    let parts = parts.into_iter().flatten().map(|part| match part {
        Value::String(name) => name.clone(),
        part => part.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Whether a path is that of a field, or within it.
fn is_within(place: &str, field: &str) -> bool {
    let (place, field) = (plain(place), plain(field));
    let rest = place.strip_prefix(&field);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a request has the field at a path.
fn has_field(request: &Map<String, Value>, path: &str) -> bool {
    let mut names = path.split('.');
    let first = names.next().and_then(|name| inner(request, name));
    let found = names.try_fold(first, |value, name| Some(inner(value?.as_object()?, name)));
    found.flatten().is_some()
}

fn inner<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let mut fields = fields.iter();
    let found = fields.find(|(own, _)| plain(own) == plain(name));
    found.map(|(_, value)| value)
}

/// Returns a path as all servers mean it: some write `thinkingConfig`, others `thinking_config`.
fn plain(path: &str) -> String {
    path.replace('_', "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
