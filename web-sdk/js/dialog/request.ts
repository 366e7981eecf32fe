/** What the user of the page is asked. */

import type { DialogStrings } from "../types/dialog.ts";
import type { JsonSchema } from "../types/infer.ts";

/** An elicitation, and who asks it. */
export interface ElicitationRequest {
  message: string;
  /** The form, unless there is a `url`. */
  schema?: JsonSchema | undefined;
  /** The address to visit. */
  url?: string | URL | undefined;
  /** The name of the AI client. */
  asker: string;
  /** The tool that asks, and what it was called with; absent for a prompt or a resource. */
  tool?: string | undefined;
  arguments?: unknown;
}

/** A call that the agent may make or not. */
export interface ApprovalRequest {
  tool: string;
  /** The source of the tool, if it is one of the agent's own. */
  source?: string | undefined;
  arguments: unknown;
  /** When the agent refuses the call at the latest, as a time of `performance.now()`; `undefined` if that is not known. */
  expiresAt: number | undefined;
}

/** What a part of the SDK asks. */
export type PageDialogRequest = ElicitationRequest | ApprovalRequest;

/** The app in which the user is asked. */
export interface DialogApp {
  appName: string;
  /** The words of the dialog that the app gives. */
  strings?: DialogStrings | undefined;
}

/** All that the dialog shows. */
export type DialogRequest = PageDialogRequest & DialogApp;
