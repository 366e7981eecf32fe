//! How the values of settings are written, and what is allowed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;

/// A text that is shown nowhere. It is fit for a header: visible ASCII characters.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text, for the one place that needs it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_trusted(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl FromStr for Secret {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text_without_spaces(text).map(Self)
    }
}

/// Where a bridge is: scheme, host, and the path before its routes.
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

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            "allowed are http:// and https:// URLs such as http://127.0.0.1:3001, without user, \
             password, query and fragment"
                .to_owned()
        };
        let whole = match text.contains("://") {
            true => text.to_owned(),
            false => format!("http://{text}"),
        };
        if whole.contains(['@', '?', '#']) {
            return Err(wrong());
        }
        match Url::parse(&whole) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Self(url)),
            _ => Err(wrong()),
        }
    }
}

/// A text that a header, a URL or a command line carries as it is.
pub(crate) fn text_without_spaces(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("allowed are visible ASCII characters without spaces".to_owned()),
    }
}

pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("allowed are whole numbers from 1 up".to_owned()),
    }
}

/// The longest time that can be set: the end of a longer one may be no time that a clock can show.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 60 * 60);

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if !duration.is_zero() && duration <= MAX_DURATION => Ok(duration),
        _ => Err("allowed are times above zero, up to 366days, such as 250ms, 5s, 2m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_is_named_by_an_address_without_credentials() {
        for (written, meant) in [
            ("127.0.0.1:3001", "http://127.0.0.1:3001/"),
            ("localhost", "http://localhost/"),
            ("https://app.example/bridge", "https://app.example/bridge"),
        ] {
            assert_eq!(written.parse::<BridgeUrl>().unwrap().to_string(), meant);
        }
        for wrong in [
            "",
            "ftp://a",
            "http://",
            "http://me:hush@a",
            "http://a?token=hush",
        ] {
            let error = wrong.parse::<BridgeUrl>().unwrap_err();
            assert!(
                error.starts_with("allowed are") && !error.contains("hush"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret: Secret = "hush-hush".parse().unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert!("hush hush".parse::<Secret>().is_err() && "".parse::<Secret>().is_err());
    }
}
