/** All types of the package's main entry. */

export type * from "./calls.ts";
export type * from "./content.ts";
export type * from "./conversation.ts";
export type * from "./definitions.ts";
export type * from "./dialog.ts";
export type * from "./error-codes.ts";
export type * from "./handles.ts";
export type * from "./infer.ts";
export type * from "./options.ts";
export type * from "./plain-http.ts";
export type * from "./query.ts";
export type * from "./status.ts";
export type * from "./webmcp.ts";
