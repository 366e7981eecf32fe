//! The address of a bridge.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

/// The address of a bridge: scheme, host, and the path before its routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeUrl(Url);

impl BridgeUrl {
    pub(crate) fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for BridgeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for BridgeUrl {
    type Err = String;

    /// Parses an `http://` or `https://` URL; a text without a scheme is an `http://` URL.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || {
            "allowed are http:// and https:// URLs such as http://127.0.0.1:3001, without user, \
             password, query and fragment"
                .to_owned()
        };
        let text = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        if text.contains(['@', '?', '#']) {
            return Err(invalid());
        }
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Self(url)),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_url_may_lack_its_scheme_and_has_no_credentials() {
        for (text, expected) in [
            ("127.0.0.1:3001", "http://127.0.0.1:3001/"),
            ("localhost", "http://localhost/"),
            ("https://app.example/bridge", "https://app.example/bridge"),
        ] {
            assert_eq!(text.parse::<BridgeUrl>().unwrap().to_string(), expected);
        }
        for invalid in [
            "",
            "ftp://a",
            "http://",
            "http://me:hush@a",
            "http://a?token=hush",
        ] {
            let error = invalid.parse::<BridgeUrl>().unwrap_err();
            assert!(
                error.starts_with("allowed are") && !error.contains("hush"),
                "{error}"
            );
        }
    }
}
