/** Encodes the pictures and files of a prompt. */

import { base64 } from "../mcp-web/base64.ts";
import type { QueriesPort } from "./messages.ts";

/** Maximum length of an edge in pixels. Providers also scale larger pictures down. */
const MAX_EDGE = 1568;

/** The part of the page that this file uses. */
type AttachmentPort = Pick<QueriesPort, "importImages">;

interface Encoded {
  name?: string;
  mimeType: string;
  data: string;
}

/** Returns an attachment in the form in which it is sent, with pictures no larger than models use. */
export async function encodeAttachment(
  given: unknown,
  port: AttachmentPort,
  invalid: (what: string, remedy: string) => Error,
): Promise<Encoded> {
  const { name, mimeType, data } = await encode(given);
  if (typeof mimeType !== "string" || !mimeType || typeof data !== "string") {
    throw invalid("an attachment is a Blob with a type, or { mimeType, data }", "pass a File, or the content as base64");
  }
  const scaled = /^image\/(png|jpeg|webp)$/.test(mimeType) ? await scaleDown({ mimeType, data }, port) : { mimeType, data };
  return { ...(typeof name === "string" && name && { name }), ...scaled };
}

async function encode(given: unknown): Promise<{ name?: unknown; mimeType?: unknown; data?: unknown }> {
  if (!(given instanceof Blob)) return (given as object | null | undefined) ?? {};
  const bytes = new Uint8Array(await given.arrayBuffer());
  return { name: (given as File).name, mimeType: given.type.replace(/;.*/, ""), data: base64(bytes) };
}

/** A picture that cannot be scaled is sent unchanged. */
async function scaleDown(picture: { mimeType: string; data: string }, { importImages }: AttachmentPort) {
  const images = await importImages().catch(() => undefined);
  const url = `data:${picture.mimeType};base64,${picture.data}`;
  const scaled = (await images?.scaleValue(url, MAX_EDGE, () => picture)) as string | undefined;
  const [, mimeType, data] = /^data:(.*?);base64,(.*)$/.exec(scaled ?? url)!;
  return { mimeType: mimeType!, data: data! };
}
