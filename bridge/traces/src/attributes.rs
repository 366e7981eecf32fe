//! The names of attributes and of some values, by the semantic conventions of OpenTelemetry.
//!
//! Those of MCP and of generative AI are in the repository `semantic-conventions-genai`
//! (`docs/gen-ai/mcp.md`, `client-inference.md` and `gen-ai-agent-spans.md`, in development, as of
//! November 2026). They build on version 1.44.0 of the general conventions, which define errors,
//! networks and databases.
//!
//! `mcp.resource.uri` is deliberately absent, because URIs may name what a user looks at, and so is
//! `mcp.session.id`: with a token, it is all that a request to a session needs.
//! So are `gen_ai.tool.call.arguments`, `gen_ai.tool.call.result`, `gen_ai.input.messages`,
//! `gen_ai.output.messages` and `db.query.text`, which have the content of calls. `gen_ai.response.model`
//! is absent because the parsers of responses do not read it.

/// The class of an error: an error code of the bridge, or [`TOOL_ERROR`].
pub const ERROR_TYPE: &str = "error.type";

/// The value of [`ERROR_TYPE`] for a tool that has returned an error.
pub const TOOL_ERROR: &str = "tool_error";

/// The method of an MCP request.
pub const MCP_METHOD_NAME: &str = "mcp.method.name";

/// The revision of MCP.
pub const MCP_PROTOCOL_VERSION: &str = "mcp.protocol.version";

/// The id of a JSON-RPC request.
pub const JSONRPC_REQUEST_ID: &str = "jsonrpc.request.id";

/// The operation of generative AI: [`EXECUTE_TOOL`], [`INVOKE_AGENT`] or [`CHAT`].
pub const GEN_AI_OPERATION_NAME: &str = "gen_ai.operation.name";

/// A call of a tool.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// A query to an agent.
pub const INVOKE_AGENT: &str = "invoke_agent";

/// A turn of a model.
pub const CHAT: &str = "chat";

/// The name of a tool.
pub const GEN_AI_TOOL_NAME: &str = "gen_ai.tool.name";

/// The name of a prompt.
pub const GEN_AI_PROMPT_NAME: &str = "gen_ai.prompt.name";

/// The name of an agent.
pub const GEN_AI_AGENT_NAME: &str = "gen_ai.agent.name";

/// The provider of a model.
pub const GEN_AI_PROVIDER_NAME: &str = "gen_ai.provider.name";

/// The requested model.
pub const GEN_AI_REQUEST_MODEL: &str = "gen_ai.request.model";

/// The maximum number of tokens that a model may produce.
pub const GEN_AI_REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";

/// Why a model has stopped.
pub const GEN_AI_RESPONSE_FINISH_REASONS: &str = "gen_ai.response.finish_reasons";

/// The tokens of the input of a model, with those from the cache of its provider.
pub const GEN_AI_USAGE_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";

/// The tokens of the output of a model, with those of its thoughts.
pub const GEN_AI_USAGE_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";

/// The tokens of the input that the provider has read from its cache.
pub const GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";

/// The transport of a network: `tcp`.
pub const NETWORK_TRANSPORT: &str = "network.transport";

/// The protocol of an application: `http` or `websocket`.
pub const NETWORK_PROTOCOL_NAME: &str = "network.protocol.name";

/// The kind of a database: `postgresql` or `sqlite`.
pub const DB_SYSTEM_NAME: &str = "db.system.name";

/// The name of a database.
pub const DB_NAMESPACE: &str = "db.namespace";

/// The operation of a database.
pub const DB_OPERATION_NAME: &str = "db.operation.name";

/// The host of a server.
pub const SERVER_ADDRESS: &str = "server.address";

/// The port of a server.
pub const SERVER_PORT: &str = "server.port";

/// How a round of a call has ended: the label `outcome` of the metric `mcp_web_calls`. A name of this
/// project.
pub const CALL_OUTCOME: &str = "mcp_web.call.outcome";

/// The id of a call, as the page knows it. A name of this project.
pub const CALL_ID: &str = "mcp_web.call.id";

/// The source of the agent that has a tool. A name of this project.
pub const SOURCE: &str = "mcp_web.source";

/// The event of a call that its page has acknowledged: its handler may run from then on.
pub const CALL_RECEIVED: &str = "call-received";
