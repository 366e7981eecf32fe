//! Parses a JSON-RPC message for the fast path: once, with each value that it does not need left as
//! raw text.
//!
//! Parsing fails only for text that is not a JSON object. A member that the fast path does not
//! know, a duplicate one, or one of an unexpected type makes the message
//! [unsupported](Message::is_unsupported): rmcp has to respond to it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::mcp::session_choice::{BARE_SESSION_KEY, SESSION_KEY};

/// A message of a client.
#[derive(Default)]
pub(in crate::mcp) struct Message<'a> {
    pub(in crate::mcp) method: Option<Cow<'a, str>>,
    pub(super) id: Option<&'a RawValue>,
    pub(super) params: Params<'a>,
    version: Option<&'a RawValue>,
    has_params: bool,
    is_unsupported: bool,
}

impl<'a> Message<'a> {
    /// Returns `None` for text that is not a JSON-RPC message, see `peek_method` in `endpoint`.
    pub(in crate::mcp) fn parse(body: &'a [u8]) -> Option<Self> {
        serde_json::from_str(std::str::from_utf8(body).ok()?).ok()
    }

    /// Whether the message has something that the fast path does not support.
    pub(super) fn is_unsupported(&self) -> bool {
        let is_version = |version: &RawValue| version.get() == "\"2.0\"";
        self.is_unsupported || self.params.is_unsupported || !self.version.is_some_and(is_version)
    }
}

/// The supported members of `params`.
#[derive(Default)]
pub(super) struct Params<'a> {
    pub(super) name: Option<&'a RawValue>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) meta: Meta<'a>,
    has_meta: bool,
    is_unsupported: bool,
}

/// The supported members of `_meta`. Other keys mean nothing to the bridge.
#[derive(Default)]
pub(super) struct Meta<'a> {
    pub(super) progress_token: Option<&'a RawValue>,
    pub(super) protocol_version: Option<&'a RawValue>,
    pub(super) client_info: Option<&'a RawValue>,
    pub(super) client_capabilities: Option<&'a RawValue>,
    pub(super) log_level: Option<&'a RawValue>,
    /// `mcp-web/sessionId`.
    pub(super) session: Option<&'a RawValue>,
    /// `sessionId`. Clients other than ours use this key for ids of their own.
    pub(super) bare_session: Option<&'a RawValue>,
    is_unsupported: bool,
}

/// An object that is parsed member by member.
trait FromMembers<'de>: Default {
    /// Parses the value of one member, or skips it.
    fn set_member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;

    /// Returns the value for JSON that is not an object. By default, such JSON is an error.
    fn from_non_object() -> Option<Self> {
        None
    }
}

/// A visitor that passes each member of an object to [`FromMembers::set_member`].
struct Reader<M>(PhantomData<M>);

impl<'de, M: FromMembers<'de>> Reader<M> {
    fn non_object<E: Error>() -> Result<M, E> {
        M::from_non_object().ok_or_else(|| E::custom("expected an object"))
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
        Self::non_object()
    }
}

/// A string, borrowed if it has no escapes.
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
            _ => map.next_value::<IgnoredAny>().map(|_| true)?,
        };
        self.is_unsupported |= twice;
        Ok(())
    }
}

impl<'de> FromMembers<'de> for Params<'de> {
    fn set_member<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let twice = match key {
            "name" => set_once(&mut self.name, map)?,
            "arguments" => set_once(&mut self.arguments, map)?,
            "_meta" => {
                self.meta = map.next_value()?;
                std::mem::replace(&mut self.has_meta, true) || self.meta.is_unsupported
            }
            _ => map.next_value::<IgnoredAny>().map(|_| true)?,
        };
        self.is_unsupported |= twice;
        Ok(())
    }

    fn from_non_object() -> Option<Self> {
        Some(Self {
            is_unsupported: true,
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
            _ => return map.next_value::<IgnoredAny>().map(drop),
        };
        self.is_unsupported |= set_once(place, map)?;
        Ok(())
    }

    fn from_non_object() -> Option<Self> {
        Some(Self {
            is_unsupported: true,
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
