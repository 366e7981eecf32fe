//! How a server is reached: by a process and its standard streams, or by HTTP.

use std::collections::BTreeMap;
use std::fmt;

use url::Url;

/// How a server is reached.
///
/// `Debug` shows no values of `env` and `headers`, no arguments, and of the URL the origin only:
/// all of them may contain secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A process that is started, with messages on its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// The arguments of the program.
        args: Vec<String>,
        /// The environment variables that the process has in addition.
        env: BTreeMap<String, String>,
        /// The working directory of the process, if it is not that of its parent.
        cwd: Option<String>,
    },
    /// An HTTP endpoint (Streamable HTTP).
    Http {
        /// The URL of the endpoint.
        url: String,
        /// The headers that each request has in addition.
        headers: BTreeMap<String, String>,
    },
}

impl ServerTransport {
    /// Returns all texts that may have variables.
    pub(super) fn texts_mut(&mut self) -> Vec<(Field<'_>, &mut String)> {
        match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let args = args.iter_mut().enumerate();
                let args = args.map(|(index, text)| (Field::Argument(index), text));
                let env = env.iter_mut();
                let env = env.map(|(name, text)| (Field::Environment(name), text));
                let cwd = cwd.iter_mut().map(|text| (Field::Directory, text));
                let command = std::iter::once((Field::Command, command));
                command.chain(args).chain(env).chain(cwd).collect()
            }
            Self::Http { url, headers } => {
                let headers = headers.iter_mut();
                let headers = headers.map(|(name, text)| (Field::Header(name), text));
                std::iter::once((Field::Url, url)).chain(headers).collect()
            }
        }
    }
}

impl fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &format_args!("({})", args.len()))
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &format_args!("{}", redacted_url(url)))
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}

/// Returns the origin of a URL. Path and query may contain secrets, and so may text that is not a
/// URL.
fn redacted_url(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) => format!("{}/…", url.origin().ascii_serialization()),
        Err(_) => "…".to_owned(),
    }
}

/// A text in the definition of a server, as messages name it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Command,
    Argument(usize),
    Environment(&'a str),
    Directory,
    Url,
    Header(&'a str),
}

impl Field<'_> {
    /// Checks a text without variables. The error continues a message that names the field, and does
    /// not quote the text.
    pub(super) fn check(self, text: &str) -> Result<(), &'static str> {
        match self {
            Self::Command if text.is_empty() => Err("is empty: write the program to start"),
            Self::Directory if text.is_empty() => Err("is empty: write a path, or remove `cwd`"),
            Self::Url => check_url(text),
            Self::Header(_) if !is_header_value(text) => Err(
                "has a line break or a character that is not ASCII: a header must be one line of \
                 visible ASCII characters, spaces and tabs",
            ),
            _ if text.contains('\0') => Err("has a null character, which no program can be given"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("command"),
            Self::Argument(index) => write!(f, "args[{index}]"),
            Self::Environment(name) => write!(f, "env.{name}"),
            Self::Directory => f.write_str("cwd"),
            Self::Url => f.write_str("url"),
            Self::Header(name) => write!(f, "headers.{name}"),
        }
    }
}

fn check_url(text: &str) -> Result<(), &'static str> {
    match Url::parse(text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            Err("must start with http:// or https://")
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => Err(
            "has a user name or a password in it: put it into `headers` instead, as \
             `\"Authorization\": \"Basic …\"`",
        ),
        Ok(_) => Ok(()),
        Err(_) => Err("is not a URL: write one such as https://mcp.example.com/mcp"),
    }
}

fn is_header_value(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_text_has_its_check() {
        for (field, text, words) in [
            (Field::Command, "", "is empty"),
            (Field::Command, "a\0", "null character"),
            (Field::Argument(0), "a\0", "null character"),
            (Field::Environment("A"), "a\0", "null character"),
            (Field::Directory, "", "is empty"),
            (Field::Url, "", "is not a URL"),
            (Field::Url, "mcp.example.com/mcp", "is not a URL"),
            (Field::Url, "http://", "is not a URL"),
            (Field::Url, "ftp://a", "http:// or https://"),
            (Field::Url, "localhost:3000/mcp", "http:// or https://"),
            (Field::Url, "https://hush@a/mcp", "put it into `headers`"),
            (Field::Url, "https://:hush@a/mcp", "put it into `headers`"),
            (Field::Header("A"), "hush\nhush", "line break"),
            (Field::Header("A"), "hüsh", "not ASCII"),
        ] {
            let problem = field.check(text).unwrap_err();
            assert!(
                problem.contains(words) && !problem.contains("hush"),
                "{problem}"
            );
        }
        for (field, text) in [
            (Field::Command, "npx"),
            (Field::Argument(0), ""),
            (Field::Environment("A"), "a\nb"),
            (Field::Directory, "/a"),
            (Field::Url, "http://127.0.0.1:3000/mcp?key=a"),
            (Field::Header("A"), "Bearer a\tb"),
            (Field::Header("A"), ""),
        ] {
            assert_eq!(field.check(text), Ok(()), "{field}");
        }
    }
}
