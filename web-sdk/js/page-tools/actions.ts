/** The actions of `interact`, after validation by the core. */

/** The target of an action: a handle, or properties that one element has. */
export interface Target {
  /** The handle, or the app's own id if that is used as one. */
  ref?: string;
  /** The properties that the element must have, all of them. */
  find?: { role?: string; name?: string; text?: string; testId?: string };
}

interface TargetedAction extends Target {
  /** The answer to a dialog of the browser (`confirm`, `prompt`) while the action runs. */
  dialog?: boolean | string;
}

/** One action. */
export type Action =
  | (TargetedAction & { type: "setValue"; value: unknown })
  | (TargetedAction & { type: "triggerEvent"; event: string })
  | (TargetedAction & { type: "callMethod"; method: string; args?: unknown[] })
  | (TargetedAction & { type: "pressKey"; key: string; modifiers?: ("Alt" | "Control" | "Meta" | "Shift")[] })
  | (TargetedAction & { type: "hover" })
  | (TargetedAction & { type: "scroll"; deltaX?: number; deltaY?: number })
  | (TargetedAction & { type: "drag"; to: Target; steps?: number })
  | (TargetedAction & { type: "setState"; key?: string; value?: unknown; values?: Record<string, unknown> })
  | (TargetedAction & { type: "setGlobal"; key: string; value: unknown })
  | (TargetedAction & { type: "navigate"; pageId: string; input?: object })
  | (TargetedAction & { type: "waitFor"; text?: string; gone?: string; ms?: number });
