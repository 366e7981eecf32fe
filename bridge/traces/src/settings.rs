//! The settings of traces, and the parsers of their values.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use http::{HeaderName, HeaderValue};
use url::Url;

/// The default share of new traces that is exported.
pub const DEFAULT_TRACE_RATIO: f64 = 1.0;

/// The default number of ended spans that wait to be sent. A span takes about a kilobyte.
pub const DEFAULT_MAX_QUEUED_SPANS: usize = 2048;

/// The path of traces below the URL of a collector (OTLP 1.x, "OTLP/HTTP Request").
const TRACES_PATH: [&str; 2] = ["v1", "traces"];

/// Settings of traces. By default, there are none.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// Where spans are sent. Without an endpoint, traces are off.
    pub otlp_endpoint: Option<OtlpEndpoint>,
    /// Headers of each request to the endpoint.
    pub otlp_headers: Option<OtlpHeaders>,
    /// The share of the traces that begin here that is exported, from 0 to 1. A trace that another
    /// program has begun is exported if that program exports it.
    pub trace_ratio: f64,
    /// Maximum number of ended spans that wait to be sent. Further ones are dropped and counted.
    pub max_queued_spans: usize,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            otlp_endpoint: None,
            otlp_headers: None,
            trace_ratio: DEFAULT_TRACE_RATIO,
            max_queued_spans: DEFAULT_MAX_QUEUED_SPANS,
        }
    }
}

/// The URL of an OpenTelemetry collector, with the path of traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint(Url);

impl OtlpEndpoint {
    pub(crate) fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for OtlpEndpoint {
    type Err = String;

    /// Parses the URL of a collector, with or without `/v1/traces`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "allowed are http:// and https:// URLs of OTLP over HTTP such as http://localhost:4318, \
             without user, password, query and fragment; credentials are `otlp_headers`"
                .to_owned()
        };
        let mut url = Url::parse(text).map_err(|_| wrong())?;
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && !text.contains(['@', '?', '#']);
        if !is_plain {
            return Err(wrong());
        }
        let has_path = url.path().trim_end_matches('/').ends_with("/v1/traces");
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty();
            if !has_path {
                path.extend(TRACES_PATH);
            }
        }
        Ok(Self(url))
    }
}

/// Headers of the requests to a collector, which may be credentials: `Debug` shows none.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpHeaders(Vec<(HeaderName, HeaderValue)>);

impl OtlpHeaders {
    pub(crate) fn to_map(&self) -> HashMap<String, String> {
        let entries = self.0.iter();
        let entries = entries.filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        entries.collect()
    }
}

impl fmt::Debug for OtlpHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtlpHeaders(…)")
    }
}

impl FromStr for OtlpHeaders {
    type Err = String;

    /// Parses `NAME=VALUE,…`. The error does not contain the value.
    fn from_str(text: &str) -> Result<Self, String> {
        let header = |entry: &str| {
            let (name, value) = entry.split_once('=')?;
            let name = HeaderName::try_from(name.trim()).ok()?;
            let mut value = HeaderValue::try_from(value.trim()).ok()?;
            value.set_sensitive(true);
            (!value.is_empty()).then_some((name, value))
        };
        let headers: Option<Vec<_>> = text.split(',').map(header).collect();
        let wrong = "allowed are headers such as authorization=Bearer SECRET, separated by commas";
        headers.map(Self).ok_or_else(|| wrong.to_owned())
    }
}

/// Parses a share from 0 to 1.
///
/// # Errors
///
/// The error describes the allowed values.
pub fn parse_ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
        _ => Err("allowed are numbers from 0 to 1, such as 0.05".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_the_path_of_traces() {
        for (written, meant) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("https://a.example/otlp", "https://a.example/otlp/v1/traces"),
            ("https://a.example/v1/traces", "https://a.example/v1/traces"),
            (
                "https://a.example/v1/traces/",
                "https://a.example/v1/traces",
            ),
            ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
        ] {
            let endpoint: OtlpEndpoint = written.parse().unwrap();
            assert_eq!(endpoint.to_string(), meant, "{written}");
        }
    }

    #[test]
    fn an_endpoint_with_a_credential_is_rejected_without_quoting_it() {
        for bad in [
            "",
            "localhost:4318",
            "ftp://a.example",
            "grpc://a.example:4317",
            "http://user:hush@a.example",
            "http://a.example/?key=hush",
            "http://a.example/#hush",
        ] {
            let error = bad.parse::<OtlpEndpoint>().unwrap_err();
            assert!(
                error.contains("otlp_headers") && !error.contains("hush"),
                "{error}"
            );
        }
    }

    #[test]
    fn headers_are_not_shown() {
        let headers: OtlpHeaders = "authorization=Bearer hush=, x-scope = team"
            .parse()
            .unwrap();
        assert_eq!(format!("{headers:?}"), "OtlpHeaders(…)");
        let map = headers.to_map();
        assert_eq!(map["authorization"], "Bearer hush=");
        assert_eq!(map["x-scope"], "team");
        for bad in ["", "hush", "hush=", "a b=hush", "=hush", "a=1,", "a=hu\nsh"] {
            let error = bad.parse::<OtlpHeaders>().unwrap_err();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_ratio_is_a_share() {
        assert_eq!(parse_ratio("0.25"), Ok(0.25));
        for bad in ["-0.1", "1.1", "NaN", "all", ""] {
            assert!(parse_ratio(bad).is_err(), "{bad}");
        }
    }
}
