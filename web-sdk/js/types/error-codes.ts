/** Error codes, for programs. */

/**
 * The codes of this module, and those of the bridge. Of the latter, only those are listed that an app is likely to use;
 * others are plain strings.
 */
export type McpWebErrorCode =
  /** The page's Content-Security-Policy lacks `'wasm-unsafe-eval'` in `script-src`. */
  | "WasmBlocked"
  /** A file of this package could not be loaded. */
  | "WasmLoadFailed"
  /** `connect()` was called on a server. */
  | "NotInBrowser"
  /** No bridge answers at `bridgeUrl`. */
  | "BridgeUnreachable"
  /** An https page may not use an http bridge, except on the user's own machine. */
  | "MixedContentBlocked"
  /** The `connect-src` of the page's Content-Security-Policy does not contain the bridge. */
  | "CspBlocked"
  /** The browser is asking its user whether the page may connect to this machine or its network. */
  | "LocalNetworkPending"
  /** The user, or the browser's administrator, has denied the page the connection to this machine or its network. */
  | "LocalNetworkDenied"
  /** An insecure page may not connect to this machine or its network. */
  | "LocalNetworkRefused"
  /** The iframe that contains the page does not allow the connection. */
  | "FrameBlocked"
  /** The browser does not allow connections to `bridgeUrl`. */
  | "BridgeUrlRefused"
  /** The connection broke, or the bridge was restarted. */
  | "ConnectionLost"
  /** The bridge closed the connection permanently. */
  | "ConnectionClosed"
  /** `disconnect()` was called. */
  | "Disconnected"
  /** The bridge uses another version of the protocol. */
  | "ProtocolUnsupported"
  /** The `authToken` function failed. */
  | "TokenFailed"
  /** The item was removed or replaced before it was registered. */
  | "Removed"
  /** A dialog is needed, but there is no document to show it in. */
  | "DialogUnavailable"
  /** `mcp-web-diagnose.js` could not be loaded. */
  | "DiagnosisUnavailable"
  /** `mcp-web-results.js` could not be loaded. */
  | "ResultUnavailable"
  /** `mcp-web-client-requests.js` could not be loaded. */
  | "ClientRequestsUnavailable"
  /** `mcp-web-token-function.js` could not be loaded. */
  | "TokenUnavailable"
  /** `mcp-web-query.js` could not be loaded. */
  | "QueryUnavailable"
  /** The options of {@link McpWeb.query} are invalid. */
  | "QueryInvalid"
  /** Only the person at the page may do this, with a click or a key: see {@link McpWebOptions.approvals}. */
  | "PersonRequired"
  /** The query is larger than a message to the bridge may be. */
  | "QueryTooLarge"
  /** The page or the agent has cancelled the query. */
  | "QueryCancelled"
  /** The query exceeded its time limit. */
  | "QueryTimeout"
  /** The bridge does not know the query (any longer), or it belongs to another session. */
  | "QueryNotFound"
  /** The user has no conversation with this id in the app. */
  | "ConversationNotFound"
  /** The query with this uuid has already ended. */
  | "QueryCompleted"
  /** The token has reached its limit of running queries. */
  | "QueryLimitExceeded"
  /** The query has reached its limit of rounds, calls or tokens. */
  | "QueryBudgetExceeded"
  /** The page does not have such a tool. */
  | "ToolNotFound"
  /** The bridge has no agent. */
  | "AgentNotConfigured"
  /** The agent cannot be reached, or stopped responding. */
  | "AgentUnavailable"
  /** The agent has failed. */
  | "AgentFailed"
  /** The agent cannot reach the bridge. */
  | "BridgeUnavailable"
  /** The model's provider rejects the agent's key. */
  | "ModelUnauthorized"
  /** The model's provider rejects further requests for now. */
  | "ModelRateLimited"
  /** The model's provider cannot be reached, or is overloaded. */
  | "ModelUnavailable"
  /** The model's provider rejects the request, for example because of an unknown model. */
  | "ModelRequestRefused"
  /** The input is longer than the model accepts, even without its optional parts. */
  | "ModelInputTooLong"
  /** The model's answer broke off. */
  | "ModelStreamBroken"
  /** The model's answer ended without an end marker. */
  | "ModelStreamUnfinished"
  /** The model's arguments for a tool were cut off. */
  | "ModelArgumentsCutOff"
  /** The model tried twice to call a tool, and the calls could not be read. */
  | "ModelCallInvalid"
  /** The model declined to answer. */
  | "ModelRefused"
  /** The model's answer reached its maximum length. */
  | "ModelLengthReached"
  /** The model answered twice with neither a text nor a call. */
  | "ModelAnswerEmpty"
  /** The model's answer does not match the schema of the query. */
  | "ModelAnswerInvalid"
  /** The model has answered without the tool that the query requires. */
  | "ResponseToolNotCalled"
  /** There is no token. */
  | "MissingAuthentication"
  /** The bridge does not know the token, or it is too short. */
  | "InvalidAuthentication"
  /** The token has expired. */
  | "TokenExpired"
  /** The bridge cannot check the token now: the keys of its issuer are missing. The page retries. */
  | "AuthenticationUnavailable"
  /** The token does not allow this. */
  | "InsufficientScope"
  /** The operator of the bridge has denied access, or has ended the session. */
  | "AccessDenied"
  /** The bridge does not allow pages of this origin. */
  | "OriginNotAllowed"
  /** Another connection with the same `sessionId` took over. */
  | "SessionSuperseded"
  /** The token has reached its limit of sessions. */
  | "SessionLimitExceeded"
  /** Another session of the token has this `sessionName`. */
  | "SessionNameAlreadyInUse"
  /** The session reached its maximum duration. */
  | "SessionExpired"
  /** The bridge has reached its limit of tokens. */
  | "RealmLimitExceeded"
  /** The bridge has no memory left for this page. */
  | "MemoryLimitExceeded"
  /** The definition cannot be published. */
  | "DefinitionInvalid"
  /** The session has reached its limit of definitions, or of their size. */
  | "DefinitionLimitExceeded"
  /** The name belongs to one of the bridge's own tools. */
  | "ToolNameReserved"
  /** The handler threw, or its result is not JSON. */
  | "HandlerFailed"
  /** The resource does not exist: for handlers to throw. */
  | "ResourceNotFound"
  /** The prompt does not exist: for handlers to throw. */
  | "PromptNotFound"
  /** The arguments are inconsistent: for handlers to throw. */
  | "InvalidArguments"
  /** The client of the call does not support the handler's request. */
  | "ClientCapabilityMissing"
  /** The client of the call answered with an error, or not in time. */
  | "ClientRequestFailed"
  /** The handler's request to the client is larger than a frame, or a query is larger than the agent accepts. */
  | "RequestTooLarge"
  /** The result is larger than the bridge's limit. */
  | "ResultTooLarge"
  /** The caller cancelled. */
  | "CallCancelled"
  /** The call exceeded its deadline. */
  | "CallTimeout"
  | (string & {});
