//! Parses a JSON-RPC message once, with each value that is not needed left as raw text.
//!
//! Parsing fails only for text that is not a JSON object. A duplicate member, or one of an
//! unexpected type, makes the message [malformed](Message::is_malformed): rmcp refuses it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use rmcp::ErrorData;
use rmcp::model::RequestId;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::large_body::block_in_place;
use super::session_choice::{BARE_SESSION_KEY, SESSION_KEY};
use crate::budget::INLINE_LIMIT;

/// A message of a client.
#[derive(Default)]
pub(super) struct Message<'a> {
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) id: Option<&'a RawValue>,
    pub(super) params: Params<'a>,
    /// The result, of a response.
    pub(super) result: Option<&'a RawValue>,
    /// The error, of a response.
    pub(super) error: Option<&'a RawValue>,
    version: Option<&'a RawValue>,
    has_params: bool,
    is_malformed: bool,
}

impl<'a> Message<'a> {
    /// Returns `None` for text that is not a JSON-RPC message, see `peek_method` in `endpoint`.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        serde_json::from_str(std::str::from_utf8(body).ok()?).ok()
    }

    /// Whether this is not a JSON-RPC message of MCP.
    pub(super) fn is_malformed(&self) -> bool {
        let is_version = |version| json_string(version).is_some_and(|version| version == "2.0");
        let is_response = self.result.is_some() || self.error.is_some();
        self.is_malformed
            || self.params.is_malformed
            || !self.version.is_some_and(is_version)
            || self.method.is_some() == is_response
            || self.id.is_some_and(|id| request_key(id).is_none())
    }
}

/// Parses the parameters of a message into the type for its method. While they are long, another
/// thread serves the other sockets.
pub(super) fn params_of<T: DeserializeOwned>(body: &[u8]) -> Result<T, ErrorData> {
    #[derive(Deserialize)]
    struct WithParams {
        params: Value,
    }
    // From a value, so that an error names no column of the whole body.
    let parse = || {
        let message: WithParams = serde_json::from_slice(body)?;
        serde_json::from_value(message.params)
    };
    let parsed = if body.len() > INLINE_LIMIT {
        block_in_place(parse)
    } else {
        parse()
    };
    parsed.map_err(|error| {
        ErrorData::invalid_params(
            format!("`params` is not as the method needs it: {error}"),
            None,
        )
    })
}

/// Returns the text of a JSON string.
pub(super) fn json_string(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str(raw.get()).ok().map(|Text(text)| text)
}

/// Returns a key with one spelling for each id: `"a"` and `"\u0061"` have an equal one. A plain id
/// is its own key. Returns `None` for JSON that is not an id in MCP.
pub(super) fn request_key(id: &RawValue) -> Option<Cow<'_, str>> {
    let text = id.get();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 18
        || text.starts_with('"') && !text.contains('\\');
    if is_plain {
        return Some(text.into());
    }
    Some(match serde_json::from_str(text).ok()? {
        RequestId::Number(number) => number.to_string().into(),
        RequestId::String(text) => format!("\"{text}\"").into(),
    })
}

/// The members of `params` that the bridge reads.
#[derive(Default)]
pub(super) struct Params<'a> {
    pub(super) name: Option<&'a RawValue>,
    pub(super) uri: Option<&'a RawValue>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) cursor: Option<&'a RawValue>,
    pub(super) request_state: Option<&'a RawValue>,
    pub(super) input_responses: Option<&'a RawValue>,
    /// The request that `notifications/cancelled` names.
    pub(super) request_id: Option<&'a RawValue>,
    pub(super) meta: Meta<'a>,
    /// Whether one of the members occurs twice.
    pub(super) has_duplicates: bool,
    has_meta: bool,
    is_malformed: bool,
}

impl<'a> Params<'a> {
    /// Returns the name of what a request with this method calls, which is in `Mcp-Name` (SEP-2243).
    pub(super) fn target(&self, method: &str) -> Option<&'a RawValue> {
        match method {
            "tools/call" | "prompts/get" => self.name,
            "resources/read" => self.uri,
            _ => None,
        }
    }
}

/// The members of `_meta` that the bridge reads. Of members with the same key, the last one counts.
#[derive(Default)]
pub(super) struct Meta<'a> {
    pub(super) progress_token: Option<&'a RawValue>,
    pub(super) protocol_version: Option<&'a RawValue>,
    pub(super) client_info: Option<&'a RawValue>,
    pub(super) client_capabilities: Option<&'a RawValue>,
    pub(super) log_level: Option<&'a RawValue>,
    /// `mcp-web/sessionId`.
    pub(super) session: Option<&'a RawValue>,
    /// `sessionId`. Clients other than ours use this key for their own ids.
    pub(super) bare_session: Option<&'a RawValue>,
    /// The trace of the request (SEP-414).
    pub(super) traceparent: Option<&'a RawValue>,
    pub(super) tracestate: Option<&'a RawValue>,
    pub(super) baggage: Option<&'a RawValue>,
    is_malformed: bool,
}

/// An object that is parsed member by member.
trait FromMembers<'de>: Default {
    /// Parses the value of one member, or skips it.
    fn set_member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;

    /// Returns the value for `null`, or for other JSON that is not an object. By default, such JSON is
    /// an error.
    fn from_non_object(_is_null: bool) -> Option<Self> {
        None
    }
}

/// A visitor that passes each member of an object to [`FromMembers::set_member`].
struct Reader<M>(PhantomData<M>);

impl<'de, M: FromMembers<'de>> Reader<M> {
    fn non_object<E: Error>() -> Result<M, E> {
        M::from_non_object(false).ok_or_else(|| E::custom("expected an object"))
    }
}

impl<'de, M: FromMembers<'de>> Visitor<'de> for Reader<M> {
    type Value = M;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<M, A::Error> {
        let mut members = M::default();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            members.set_member(&key.0, &mut map)?;
        }
        Ok(members)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<M, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Self::non_object()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<M, E> {
        Self::non_object()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<M, E> {
        Self::non_object()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<M, E> {
        Self::non_object()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<M, E> {
        Self::non_object()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<M, E> {
        Self::non_object()
    }

    fn visit_unit<E: Error>(self) -> Result<M, E> {
        M::from_non_object(true).ok_or_else(|| E::custom("expected an object"))
    }
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Stores a value that must occur once. Returns whether there was one already.
fn set_once<'de, A, T>(slot: &mut Option<T>, map: &mut A) -> Result<bool, A::Error>
where
    A: MapAccess<'de>,
    T: Deserialize<'de>,
{
    Ok(slot.replace(map.next_value()?).is_some())
}

impl<'de> FromMembers<'de> for Message<'de> {
    fn set_member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let twice = match key {
            "jsonrpc" => set_once(&mut self.version, map)?,
            "id" => set_once(&mut self.id, map)?,
            "method" => {
                let Key(method) = map.next_value()?;
                self.method.replace(method).is_some()
            }
            "params" => {
                self.params = map.next_value()?;
                std::mem::replace(&mut self.has_params, true)
            }
            "result" => set_once(&mut self.result, map)?,
            "error" => set_once(&mut self.error, map)?,
            _ => map.next_value::<IgnoredAny>().map(|_| false)?,
        };
        self.is_malformed |= twice;
        Ok(())
    }
}

impl<'de> FromMembers<'de> for Params<'de> {
    fn set_member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let twice = match key {
            "name" => set_once(&mut self.name, map)?,
            "uri" => set_once(&mut self.uri, map)?,
            "arguments" => set_once(&mut self.arguments, map)?,
            "cursor" => set_once(&mut self.cursor, map)?,
            "requestState" => set_once(&mut self.request_state, map)?,
            "inputResponses" => set_once(&mut self.input_responses, map)?,
            "requestId" => set_once(&mut self.request_id, map)?,
            "_meta" => {
                self.meta = map.next_value()?;
                self.is_malformed |= self.meta.is_malformed;
                std::mem::replace(&mut self.has_meta, true)
            }
            _ => map.next_value::<IgnoredAny>().map(|_| false)?,
        };
        self.has_duplicates |= twice;
        Ok(())
    }

    fn from_non_object(is_null: bool) -> Option<Self> {
        Some(Self {
            is_malformed: !is_null,
            ..Self::default()
        })
    }
}

impl<'de> FromMembers<'de> for Meta<'de> {
    fn set_member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let place = match key {
            "progressToken" => &mut self.progress_token,
            "io.modelcontextprotocol/protocolVersion" => &mut self.protocol_version,
            "io.modelcontextprotocol/clientInfo" => &mut self.client_info,
            "io.modelcontextprotocol/clientCapabilities" => &mut self.client_capabilities,
            "io.modelcontextprotocol/logLevel" => &mut self.log_level,
            SESSION_KEY => &mut self.session,
            BARE_SESSION_KEY => &mut self.bare_session,
            "traceparent" => &mut self.traceparent,
            "tracestate" => &mut self.tracestate,
            "baggage" => &mut self.baggage,
            _ => return map.next_value::<IgnoredAny>().map(drop),
        };
        *place = Some(map.next_value()?);
        Ok(())
    }

    fn from_non_object(is_null: bool) -> Option<Self> {
        Some(Self {
            is_malformed: !is_null,
            ..Self::default()
        })
    }
}

macro_rules! read_by_member {
    ($($members:ident)*) => {$(
        impl<'de> Deserialize<'de> for $members<'de> {
            fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                value.deserialize_any(Reader(PhantomData))
            }
        }
    )*};
}

read_by_member! { Message Params Meta }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_key_is_equal_for_each_spelling_of_an_id() {
        let key = |json: &'static str| {
            let id: &RawValue = serde_json::from_str(json).unwrap();
            request_key(id)
        };
        for (json, expected) in [
            ("7", "7"),
            ("-7", "-7"),
            ("7.0", "7"),
            (r#""a""#, r#""a""#),
            (r#""\u0061""#, r#""a""#),
        ] {
            assert_eq!(key(json).as_deref(), Some(expected));
        }
        for json in ["null", "1.5", "{}", "true", "99999999999999999999"] {
            assert_eq!(key(json), None);
        }
    }
}
