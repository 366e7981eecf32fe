/** Pictures, sounds and bytes in strings: data URLs, and base64 of an unknown type. Loaded when one of them is sent. */

import { base64 } from "./mcp-web/base64.ts";
import type { EncodedBytes } from "./mcp-web/content.ts";

/** Returns the base64 and the type of a data URL, or of base64. */
export function parseText(text: string, mimeType?: string): EncodedBytes {
  const url = /^data:([^,;]*)[^,]*?(;base64)?,/i.exec(text);
  if (!url) return { data: text, mimeType: mimeType ?? sniffType(text) };
  const rest = text.slice(url[0].length);
  const data = url[2] ? rest.replace(/\s|%[0-9a-f]{2}/gi, (part) => (part[0] === "%" ? decodeURIComponent(part) : "")) : decodePercent(rest);
  return { data, mimeType: mimeType ?? (url[1] || sniffType(data) || (url[2] ? undefined : "text/plain")) };
}

function decodePercent(text: string): string {
  return base64(new TextEncoder().encode(decodeURIComponent(text)));
}

/** The first bytes of common formats. */
const BEGINNINGS: { [mimeType: string]: string } = { "image/png": "iVBORw0KGg", "image/jpeg": "/9j/", "image/gif": "R0lGOD", "audio/mpeg": "SUQz", "audio/ogg": "T2dnUw" };

/** Returns the type that the first bytes indicate. */
function sniffType(data: string): string | undefined {
  if (data.startsWith("UklGR")) {
    const formats: { [format: string]: string } = { WEBP: "image/webp", WAVE: "audio/wav" };
    return formats[atob(data.slice(0, 16).replaceAll("-", "+").replaceAll("_", "/")).slice(8)];
  }
  return Object.keys(BEGINNINGS).find((mimeType) => data.startsWith(BEGINNINGS[mimeType]!));
}
