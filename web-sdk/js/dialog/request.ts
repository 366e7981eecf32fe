/** The requests to the user of the page. */

import type { DialogStrings } from "../types/dialog.ts";
import type { JsonSchema } from "../types/infer.ts";

/** An elicitation, and its sender. */
export interface ElicitationRequest {
  message: string;
  /** The form, unless there is a `url`. */
  schema?: JsonSchema | undefined;
  /** The address to visit. */
  url?: string | URL | undefined;
  /** The name of the AI client. */
  asker: string;
  /** The tool that sends the request, with its arguments; absent for a prompt or a resource. */
  tool?: string | undefined;
  arguments?: unknown;
}

/** A call that the user allows or refuses. */
export interface ApprovalRequest {
  tool: string;
  /** The source of the tool, if it is one of the agent's own. */
  source?: string | undefined;
  arguments: unknown;
  /**
   * The latest time at which the agent refuses the call, as a time of `performance.now()`; `undefined` if it is unknown.
   */
  expiresAt: number | undefined;
}

/** A request by a part of the SDK. */
export type PageDialogRequest = ElicitationRequest | ApprovalRequest;

/** The app in which the user is asked. */
export interface DialogApp {
  appName: string;
  /** The texts of the dialog that the app provides. */
  strings?: DialogStrings | undefined;
}

/** Everything that the dialog shows. */
export type DialogRequest = PageDialogRequest & DialogApp;
