//! The command `admin`: its arguments, and how it asks the bridge.

use std::io::{Read, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bridge_auth::RealmId;
use bridge_output::{print, print_error};
use bridge_protocol::limits::MAX_TOKEN_BYTES;
use bridge_settings::values;
use clap::{Args, Subcommand};

use super::messages::{
    AdminAnswer, AdminRequest, DenyRequest, EndRequest, Ended, ListRequest, Listed, UserSelector,
};
#[cfg(not(unix))]
use super::no_socket as socket;
#[cfg(unix)]
use super::socket;
use super::table;

/// Arguments of the command `admin`.
#[derive(Debug, Args)]
pub(crate) struct AdminArguments {
    /// Socket of the bridge. Without it, `admin_socket` of the settings is used.
    #[arg(long, value_name = "PATH", global = true)]
    socket: Option<PathBuf>,

    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// List the users and tokens with pages or clients.
    Users(ListArguments),
    /// List the pages.
    Pages(ListArguments),
    /// List the MCP sessions of AI clients.
    Clients(ListArguments),
    /// List the running calls.
    Calls(ListArguments),
    /// List who is denied access.
    Denied(ListArguments),
    /// End a page, an MCP session, a call, or everything of a user.
    #[command(subcommand)]
    End(EndCommand),
    /// Deny access to a user or token: everything of it ends, and later requests are refused.
    Deny {
        #[command(flatten)]
        user: UserArguments,
        /// How long access is denied, up to 366days.
        #[arg(long = "for", value_name = "TIME", default_value = "24h", value_parser = values::parse_duration)]
        duration: Duration,
        /// Reason for the list of denials and for the log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Allow access to a user or token again.
    Allow {
        #[command(flatten)]
        user: UserArguments,
    },
}

#[derive(Debug, Subcommand)]
enum EndCommand {
    /// End a page. It connects again when it is reloaded.
    Page(EndArguments),
    /// End an MCP session. Its client opens another one if it can.
    Client(EndArguments),
    /// End a call.
    Call(EndArguments),
    /// End all pages, MCP sessions, calls and queries of a user or token.
    User {
        #[command(flatten)]
        user: UserArguments,
        /// Reason for the log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

/// A part of a list.
#[derive(Debug, Args)]
struct ListArguments {
    /// Only what belongs to this subject of signed tokens.
    #[arg(long, value_name = "SUB", conflicts_with = "realm")]
    subject: Option<String>,
    /// Issuer of the subject, if several are configured.
    #[arg(
        long,
        value_name = "URL",
        requires = "subject",
        conflicts_with = "realm"
    )]
    issuer: Option<String>,
    /// Only what belongs to this realm: the hash, or at least 8 digits of it.
    #[arg(long, value_name = "HASH")]
    realm: Option<String>,
    /// Maximum number of rows, up to 1,000.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = values::parse_count)]
    limit: usize,
    /// Continue a list after this place, which the part before names.
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
}

/// Something to end.
#[derive(Debug, Args)]
struct EndArguments {
    /// Id from the list.
    id: String,
    /// Realm from the list, if several have the id.
    #[arg(long, value_name = "HASH")]
    realm: Option<String>,
    /// Reason for the log, and for the client of a call.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// The name of a user or token.
#[derive(Debug, Args)]
struct UserArguments {
    #[command(flatten)]
    name: UserName,
    /// Issuer of the subject, if several are configured.
    // `requires` alone does not hold beside an argument that conflicts with the subject.
    #[arg(long, value_name = "URL", requires = "subject", conflicts_with_all = ["realm", "token_stdin"])]
    issuer: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct UserName {
    /// Subject of signed tokens.
    subject: Option<String>,
    /// Realm: the hash, or at least 8 digits of it, as lists and logs print them. The hash of an
    /// opaque token is its SHA-256.
    #[arg(long, value_name = "HASH")]
    realm: Option<String>,
    /// Read an opaque token from the standard input. It is hashed here, and not sent.
    #[arg(long)]
    token_stdin: bool,
}

/// Runs the command with the socket of the settings.
pub(crate) async fn run(arguments: AdminArguments, socket: Option<&Path>) -> ExitCode {
    let is_json = arguments.json;
    match ask(arguments, socket).await {
        Ok(answer) if is_json => {
            // It has only texts and numbers.
            let json = serde_json::to_string_pretty(&answer).unwrap_or_default();
            ExitCode::from(print(&format!("{json}\n")))
        }
        Ok(answer) => ExitCode::from(print(&table::text(&answer))),
        Err(error) => {
            print_error(error);
            ExitCode::FAILURE
        }
    }
}

async fn ask(arguments: AdminArguments, socket: Option<&Path>) -> Result<AdminAnswer, String> {
    let socket = arguments.socket.as_deref().or(socket).ok_or(
        "the socket of the bridge is unknown: give --socket, or the settings with `admin_socket` \
         (MCP_WEB_ADMIN_SOCKET, --config)",
    )?;
    let request = arguments.command.into_request()?;
    socket::request(socket, &request).await
}

impl AdminCommand {
    fn into_request(self) -> Result<AdminRequest, String> {
        Ok(match self {
            Self::Users(list) => list.into_request(Listed::Users),
            Self::Pages(list) => list.into_request(Listed::Pages),
            Self::Clients(list) => list.into_request(Listed::Clients),
            Self::Calls(list) => list.into_request(Listed::Calls),
            Self::Denied(list) => list.into_request(Listed::Denied),
            Self::End(EndCommand::Page(end)) => end.into_request(Ended::Page),
            Self::End(EndCommand::Client(end)) => end.into_request(Ended::Client),
            Self::End(EndCommand::Call(end)) => end.into_request(Ended::Call),
            Self::End(EndCommand::User { user, reason }) => AdminRequest::End(EndRequest {
                what: Ended::User,
                user: user.into_selector()?,
                reason,
            }),
            Self::Deny {
                user,
                duration,
                reason,
            } => AdminRequest::Deny(DenyRequest {
                user: user.into_selector()?,
                // A shorter time would be over at once.
                seconds: duration.as_secs().max(1),
                reason,
            }),
            Self::Allow { user } => AdminRequest::Allow(user.into_selector()?),
        })
    }
}

impl ListArguments {
    fn into_request(self, what: Listed) -> AdminRequest {
        AdminRequest::List(ListRequest {
            what,
            user: UserSelector {
                subject: self.subject,
                issuer: self.issuer,
                realm: self.realm,
            },
            after: self.after,
            limit: self.limit,
        })
    }
}

impl EndArguments {
    fn into_request(self, what: impl FnOnce(String) -> Ended) -> AdminRequest {
        AdminRequest::End(EndRequest {
            what: what(self.id),
            user: UserSelector {
                realm: self.realm,
                ..UserSelector::default()
            },
            reason: self.reason,
        })
    }
}

impl UserArguments {
    fn into_selector(self) -> Result<UserSelector, String> {
        let UserName {
            subject,
            realm,
            token_stdin,
        } = self.name;
        let realm = if token_stdin {
            Some(RealmId::from_token(&read_token(stdin())?).to_hex())
        } else {
            realm
        };
        Ok(UserSelector {
            subject,
            issuer: self.issuer,
            realm,
        })
    }
}

/// Reads a token, which may be followed by a line feed. No error contains it.
fn read_token(input: impl Read) -> Result<String, String> {
    let mut text = String::new();
    let limit = u64::try_from(MAX_TOKEN_BYTES).unwrap_or(u64::MAX);
    let read = input
        .take(limit.saturating_add(2))
        .read_to_string(&mut text);
    read.map_err(|error| format!("the token cannot be read from the standard input: {error}"))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.is_empty() || token.contains(char::is_whitespace) || token.len() > MAX_TOKEN_BYTES {
        return Err(format!(
            "the standard input must have one token of at most {MAX_TOKEN_BYTES} bytes"
        ));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        arguments: AdminArguments,
    }

    fn parse(line: &str) -> Result<Program, clap::Error> {
        Program::try_parse_from(std::iter::once("admin").chain(line.split_whitespace()))
    }

    fn request(line: &str) -> AdminRequest {
        parse(line)
            .unwrap()
            .arguments
            .command
            .into_request()
            .unwrap()
    }

    #[test]
    fn a_user_has_exactly_one_name() {
        for line in [
            "deny",
            "deny ann --realm 12345678",
            "deny --realm 12345678 --token-stdin",
            "deny --issuer https://id.example --realm 12345678",
            "deny --issuer https://id.example --token-stdin",
            "deny --issuer https://id.example",
            "users --subject ann --realm 12345678",
            "users --issuer https://id.example --realm 12345678",
            "users --issuer https://id.example",
            "allow",
            "end user",
            "end page",
            "deny ann --for 0s",
            "users --limit 0",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        let AdminRequest::Deny(deny) = request("deny ann --issuer https://id.example --for 2h")
        else {
            panic!("another request");
        };
        assert_eq!(deny.user.subject.as_deref(), Some("ann"));
        assert_eq!(deny.user.issuer.as_deref(), Some("https://id.example"));
        assert_eq!(deny.seconds, 7200);
    }

    #[test]
    fn requests_survive_as_json() {
        for line in [
            "users --subject ann --limit 5 --after a/b",
            "pages --json",
            "clients",
            "calls",
            "denied",
            "end page a --realm 12345678",
            "end client a",
            "end call a --reason why",
            "end user ann",
            "deny --realm 12345678",
            "allow ann",
        ] {
            let request = request(line);
            let json = serde_json::to_string(&request).unwrap();
            assert_eq!(
                serde_json::from_str::<AdminRequest>(&json).unwrap(),
                request
            );
        }
    }

    #[test]
    fn a_token_is_read_without_its_line_feed() {
        let token = "token-0123456789abcdef";
        for text in [
            token.to_owned(),
            format!("{token}\n"),
            format!("{token}\r\n"),
        ] {
            assert_eq!(read_token(text.as_bytes()).as_deref(), Ok(token));
        }
        for text in [
            "",
            "\n",
            "one two",
            "one\ntwo",
            &"x".repeat(MAX_TOKEN_BYTES + 1),
        ] {
            let error = read_token(text.as_bytes()).unwrap_err();
            assert!(error.contains("one token"), "{error}");
        }
    }
}
