//! The place of a call or a query in a trace.

use serde::{Deserialize, Serialize};

/// The place of a call or a query in a trace, in the formats of W3C Trace Context and W3C Baggage. The
/// fields have the names of the HTTP headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceContext {
    /// The ids of the trace and of the span that is the parent of all that follows.
    #[serde(default)]
    pub traceparent: String,
    /// The state of the trace at vendors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// Properties of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baggage: Option<String>,
}

impl TraceContext {
    /// Returns the fields as HTTP headers, for a request that belongs to the trace.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let optional = [("tracestate", &self.tracestate), ("baggage", &self.baggage)];
        let optional = optional.into_iter();
        let optional = optional.filter_map(|(name, value)| Some((name, value.as_deref()?)));
        std::iter::once(("traceparent", self.traceparent.as_str())).chain(optional)
    }
}
