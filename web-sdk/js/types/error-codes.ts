/** What can go wrong, for programs. */

/**
 * The codes of this module, and those of the bridge. The latter are only listed as far as an app is likely
 * to look at them; others are strings all the same.
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
  /** `connect-src` of the page's Content-Security-Policy lacks the bridge. */
  | "CspBlocked"
  /** The browser asks its user whether the page may connect to this machine or its network. */
  | "LocalNetworkPending"
  /** The user, or who manages the browser, does not let the page connect to this machine or its network. */
  | "LocalNetworkDenied"
  /** An insecure page may not connect to this machine or its network. */
  | "LocalNetworkRefused"
  /** The iframe that the page runs in does not let it connect. */
  | "FrameBlocked"
  /** The browser does not allow connections to `bridgeUrl`. */
  | "BridgeUrlRefused"
  /** The connection broke, or the bridge was restarted. */
  | "ConnectionLost"
  /** The bridge closed the connection for good. */
  | "ConnectionClosed"
  /** `disconnect()` was called. */
  | "Disconnected"
  /** The bridge speaks another version of the protocol. */
  | "ProtocolUnsupported"
  /** The `authToken` function failed. */
  | "TokenFailed"
  /** What was added was removed or replaced before it was registered. */
  | "Removed"
  /** A dialog is needed, and there is no document to show it in. */
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
  /** What was passed to {@link McpWeb.query} makes no query. */
  | "QueryInvalid"
  /** Only the person at the page may do this, by a click or a key: see {@link McpWebOptions.approvals}. */
  | "PersonRequired"
  /** The query is larger than a message to the bridge may be. */
  | "QueryTooLarge"
  /** The page or the agent has cancelled the query. */
  | "QueryCancelled"
  /** The query took longer than it may. */
  | "QueryTimeout"
  /** The bridge does not know the query (any more), or it is not this session's. */
  | "QueryNotFound"
  /** The user has no conversation of this id in the app. */
  | "ConversationNotFound"
  /** The bridge has had a query of this uuid, and it is over. */
  | "QueryCompleted"
  /** The token has as many queries in flight as it may have. */
  | "QueryLimitExceeded"
  /** The query has used the rounds, calls or tokens that it may use. */
  | "QueryBudgetExceeded"
  /** The page has no such tool. */
  | "ToolNotFound"
  /** The bridge has no agent. */
  | "AgentNotConfigured"
  /** The agent cannot be reached, or fell silent. */
  | "AgentUnavailable"
  /** The agent has failed. */
  | "AgentFailed"
  /** The agent cannot reach the bridge. */
  | "BridgeUnavailable"
  /** The model's provider refuses the agent's key. */
  | "ModelUnauthorized"
  /** The model's provider takes no more requests for now. */
  | "ModelRateLimited"
  /** The model's provider cannot be reached, or is overloaded. */
  | "ModelUnavailable"
  /** The model's provider does not accept the request: an unknown model. */
  | "ModelRequestRefused"
  /** The input is longer than the model can read, also without what could be left out. */
  | "ModelInputTooLong"
  /** The model's answer broke off. */
  | "ModelStreamBroken"
  /** The model's answer came to an end without saying that it was the end. */
  | "ModelStreamUnfinished"
  /** The model's arguments for a tool were cut off. */
  | "ModelArgumentsCutOff"
  /** The model declined to answer. */
  | "ModelRefused"
  /** The model's answer reached the length that it may have. */
  | "ModelLengthReached"
  /** The model answered with neither text nor a call, twice. */
  | "ModelAnswerEmpty"
  /** The model's answer does not fit the schema of the query. */
  | "ModelAnswerInvalid"
  /** The model has answered without the tool that the query demands. */
  | "ResponseToolNotCalled"
  /** There is no token. */
  | "MissingAuthentication"
  /** The bridge knows no such token, or it is too short. */
  | "InvalidAuthentication"
  /** The token has expired. */
  | "TokenExpired"
  /** The token does not allow this. */
  | "InsufficientScope"
  /** The bridge does not allow pages of this origin. */
  | "OriginNotAllowed"
  /** Another connection with the same `sessionId` took over. */
  | "SessionSuperseded"
  /** The token has as many sessions as it may have. */
  | "SessionLimitExceeded"
  /** Another session of the token has this `sessionName`. */
  | "SessionNameAlreadyInUse"
  /** The session reached its maximum duration. */
  | "SessionExpired"
  /** The bridge holds as many tokens as it may hold. */
  | "RealmLimitExceeded"
  /** The bridge has no memory left for this page. */
  | "MemoryLimitExceeded"
  /** The definition cannot be published. */
  | "DefinitionInvalid"
  /** The session has as many definitions, or bytes of definitions, as it may have. */
  | "DefinitionLimitExceeded"
  /** The name belongs to one of the bridge's own tools. */
  | "ToolNameReserved"
  /** The handler threw, or its result is no JSON. */
  | "HandlerFailed"
  /** There is no such resource: for handlers to throw. */
  | "ResourceNotFound"
  /** There is no such prompt: for handlers to throw. */
  | "PromptNotFound"
  /** The arguments make no sense together: for handlers to throw. */
  | "InvalidArguments"
  /** The client behind the call cannot do what the handler asked it for. */
  | "ClientCapabilityMissing"
  /** The client behind the call answered with an error, or not in time. */
  | "ClientRequestFailed"
  /** What the handler asked the client is larger than a frame, or a query is larger than the agent takes. */
  | "RequestTooLarge"
  /** The result is larger than the bridge's limit. */
  | "ResultTooLarge"
  /** The caller cancelled. */
  | "CallCancelled"
  /** The call took longer than its deadline. */
  | "CallTimeout"
  | (string & {});
