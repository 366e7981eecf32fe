//! The table of clients: where the configuration of each is on each system, what an entry looks like,
//! and what to do after a change.
//!
//! Sources, of November 2026: the documentation of each client, and the files that its own command
//! writes. The place of Claude Desktop below `Claude-Data` is reported by one user of the package of
//! version 2.4: it is only used where that folder exists.

use crate::client::{
    Client, DefaultValue, FileFormat, Location, Member, MemberValue, Sign, UserFiles, location,
    member,
};
use crate::environment::BaseFolder::{
    AppData, ApplicationSupport, Config, Home, LocalAppData, Variable,
};

const PROGRAM: Member = member("command", MemberValue::Program);
const ARGUMENTS: Member = member("args", MemberValue::Arguments);
const VARIABLES: Member = member("env", MemberValue::Variables);
const URL: Member = member("url", MemberValue::Url);
const HEADERS: Member = member("headers", MemberValue::Headers);
const STDIO_TYPE: Member = member("type", MemberValue::Text("stdio"));
const HTTP_TYPE: Member = member("type", MemberValue::Text("http"));

const STDIO: &[Member] = &[PROGRAM, ARGUMENTS, VARIABLES];
const TYPED_STDIO: &[Member] = &[STDIO_TYPE, PROGRAM, ARGUMENTS, VARIABLES];
const HTTP: &[Member] = &[URL, HEADERS];
const TYPED_HTTP: &[Member] = &[HTTP_TYPE, URL, HEADERS];

const CLINE_STDIO: &[Member] = &[
    PROGRAM,
    ARGUMENTS,
    VARIABLES,
    member("disabled", MemberValue::Default(DefaultValue::False)),
];
const CLINE_HTTP: &[Member] = &[
    member("type", MemberValue::Text("streamableHttp")),
    URL,
    HEADERS,
    member("disabled", MemberValue::Default(DefaultValue::False)),
];

const fn home(path: &'static str) -> Location {
    location(Home, path)
}

/// The clients, with the most common first.
pub const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        name: "Claude Code",
        files: UserFiles::everywhere(CLAUDE_CODE),
        project: Some(".mcp.json"),
        sign: Sign::Any(&[".claude.json", ".claude"]),
        program: Some("claude"),
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: TYPED_STDIO,
        http: Some(TYPED_HTTP),
        afterwards: "start `claude` again; /mcp lists the server",
    },
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        files: UserFiles {
            linux: &[location(Config, "Claude/claude_desktop_config.json")],
            macos: &[location(
                ApplicationSupport,
                "Claude/claude_desktop_config.json",
            )],
            windows: &[
                location(
                    LocalAppData,
                    "Claude-Data/claude_*/claude_desktop_config.json",
                ),
                // The package redirects `AppData/Roaming` to this folder, but not for other programs.
                location(
                    LocalAppData,
                    "Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
                ),
                location(AppData, "Claude/claude_desktop_config.json"),
            ],
        },
        project: None,
        sign: Sign::Folder(0),
        program: None,
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: STDIO,
        http: None,
        afterwards: "quit Claude Desktop and open it again: to close its window is not enough",
    },
    Client {
        id: "codex",
        name: "Codex",
        files: UserFiles::everywhere(CODEX),
        project: Some(".codex/config.toml"),
        sign: Sign::Folder(0),
        program: Some("codex"),
        format: FileFormat::Toml,
        key: "mcp_servers",
        stdio: STDIO,
        http: Some(&[URL, member("http_headers", MemberValue::Headers)]),
        afterwards: "start `codex` again; /mcp lists the server",
    },
    Client {
        id: "gemini-cli",
        name: "Gemini CLI",
        files: UserFiles::everywhere(&[home(".gemini/settings.json")]),
        project: Some(".gemini/settings.json"),
        // Antigravity has a folder in `.gemini`.
        sign: Sign::Any(&[
            ".gemini/settings.json",
            ".gemini/oauth_creds.json",
            ".gemini/google_accounts.json",
            ".gemini/installation_id",
        ]),
        program: Some("gemini"),
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: STDIO,
        http: Some(&[member("httpUrl", MemberValue::Url), HEADERS]),
        afterwards: "start `gemini` again, in a folder that it trusts; /mcp lists the server",
    },
    Client {
        id: "copilot-cli",
        name: "Copilot CLI",
        files: UserFiles::everywhere(COPILOT),
        project: Some(".github/mcp.json"),
        sign: Sign::Folder(0),
        program: Some("copilot"),
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: &[
            member("type", MemberValue::Text("local")),
            PROGRAM,
            ARGUMENTS,
            VARIABLES,
            member("tools", MemberValue::Default(DefaultValue::All)),
        ],
        http: Some(&[
            HTTP_TYPE,
            URL,
            HEADERS,
            member("tools", MemberValue::Default(DefaultValue::All)),
        ]),
        afterwards: "start `copilot` again; /mcp lists the server",
    },
    Client {
        id: "opencode",
        name: "opencode",
        files: UserFiles::everywhere(OPENCODE),
        project: Some("opencode.json[c]"),
        sign: Sign::Folder(0),
        program: Some("opencode"),
        format: FileFormat::Jsonc,
        key: "mcp",
        stdio: &[
            member("type", MemberValue::Text("local")),
            member("command", MemberValue::CommandLine),
            member("environment", MemberValue::Variables),
            member("enabled", MemberValue::Default(DefaultValue::True)),
        ],
        http: Some(&[
            member("type", MemberValue::Text("remote")),
            URL,
            HEADERS,
            member("enabled", MemberValue::Default(DefaultValue::True)),
        ]),
        afterwards: "start `opencode` again; `opencode mcp list` lists the server",
    },
    Client {
        id: "cursor",
        name: "Cursor",
        files: UserFiles::everywhere(&[home(".cursor/mcp.json")]),
        project: Some(".cursor/mcp.json"),
        sign: Sign::Folder(0),
        program: None,
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: STDIO,
        http: Some(HTTP),
        afterwards: "enable the server in the MCP part of Cursor's settings",
    },
    Client {
        id: "vscode",
        name: "VS Code",
        files: UserFiles {
            linux: &[location(Config, "Code/User/mcp.json")],
            macos: &[location(ApplicationSupport, "Code/User/mcp.json")],
            windows: &[location(AppData, "Code/User/mcp.json")],
        },
        project: Some(".vscode/mcp.json"),
        sign: Sign::Folder(0),
        program: None,
        format: FileFormat::Jsonc,
        key: "servers",
        stdio: TYPED_STDIO,
        http: Some(TYPED_HTTP),
        afterwards: "run `MCP: List Servers` in VS Code and start the server",
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        files: UserFiles::everywhere(&[home(".codeium/windsurf/mcp_config.json")]),
        project: None,
        sign: Sign::Folder(0),
        program: None,
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: STDIO,
        http: Some(&[member("serverUrl", MemberValue::Url), HEADERS]),
        afterwards: "press the refresh button in the MCP part of Windsurf's settings. Its successor, \
                     Devin Desktop, has another file: add the server there with `devin mcp add`",
    },
    Client {
        id: "zed",
        name: "Zed",
        files: UserFiles {
            linux: &[location(Config, "zed/settings.json")],
            macos: &[home(".config/zed/settings.json")],
            windows: &[location(AppData, "Zed/settings.json")],
        },
        project: Some(".zed/settings.json"),
        sign: Sign::Folder(0),
        program: None,
        format: FileFormat::Jsonc,
        key: "context_servers",
        stdio: STDIO,
        http: Some(HTTP),
        afterwards: "look for a green dot beside the server in the settings of Zed's agent panel",
    },
    Client {
        id: "cline",
        name: "Cline in VS Code",
        files: UserFiles {
            linux: &[location(Config, CLINE_IN_VSCODE)],
            macos: &[location(ApplicationSupport, CLINE_IN_VSCODE)],
            windows: &[location(AppData, CLINE_IN_VSCODE)],
        },
        project: None,
        sign: Sign::Folder(1),
        program: None,
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: CLINE_STDIO,
        http: Some(CLINE_HTTP),
        afterwards: "look at the list of MCP servers in Cline",
    },
    Client {
        id: "cline-cli",
        name: "Cline CLI",
        files: UserFiles::everywhere(&[home(CLINE_CLI)]),
        project: None,
        sign: Sign::Folder(1),
        program: Some("cline"),
        format: FileFormat::Jsonc,
        key: "mcpServers",
        stdio: CLINE_STDIO,
        http: Some(CLINE_HTTP),
        afterwards: "start `cline` again",
    },
    Client {
        id: "goose",
        name: "Goose",
        files: UserFiles {
            linux: &[home(".config/goose/config.yaml")],
            macos: &[home(".config/goose/config.yaml")],
            windows: &[location(AppData, "Block/goose/config/config.yaml")],
        },
        project: None,
        sign: Sign::Folder(0),
        program: Some("goose"),
        format: FileFormat::Yaml,
        key: "extensions",
        stdio: &[
            member("name", MemberValue::Name),
            member(
                "description",
                MemberValue::Text("The web page that you see"),
            ),
            member("type", MemberValue::Text("stdio")),
            member("cmd", MemberValue::Program),
            ARGUMENTS,
            member("envs", MemberValue::Variables),
            member("timeout", MemberValue::Default(DefaultValue::Number(300))),
            member("enabled", MemberValue::Default(DefaultValue::True)),
        ],
        http: Some(&[
            member("name", MemberValue::Name),
            member(
                "description",
                MemberValue::Text("The web page that you see"),
            ),
            member("type", MemberValue::Text("streamable_http")),
            member("uri", MemberValue::Url),
            HEADERS,
            member("timeout", MemberValue::Default(DefaultValue::Number(300))),
            member("enabled", MemberValue::Default(DefaultValue::True)),
        ]),
        afterwards: "start a new session of Goose",
    },
];

const CLAUDE_CODE: &[Location] = &[location(Variable("CLAUDE_CONFIG_DIR", ""), ".claude.json")];
const CODEX: &[Location] = &[location(Variable("CODEX_HOME", ".codex"), "config.toml")];
const COPILOT: &[Location] = &[location(
    Variable("COPILOT_HOME", ".copilot"),
    "mcp-config.json",
)];
const OPENCODE: &[Location] = &[location(Config, "opencode/opencode.json[c]")];
const CLINE_IN_VSCODE: &str =
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
const CLINE_CLI: &str = ".cline/data/settings/cline_mcp_settings.json";

/// Returns the client with a name of the command line.
pub(crate) fn client(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == id)
}
