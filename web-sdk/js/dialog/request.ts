/** What the user of the page is asked. */

import type { DialogStrings } from "../types/dialog.ts";
import type { JsonSchema } from "../types/infer.ts";

/** An elicitation, and who asks it. */
export interface DialogRequest {
  message: string;
  /** The form, unless there is a `url`. */
  schema?: JsonSchema | undefined;
  /** The address to visit. */
  url?: string | URL | undefined;
  /** The name of the AI client. */
  asker: string;
  appName: string;
  /** The words of the dialog that the app gives. */
  strings?: DialogStrings | undefined;
}
