/** Formats dates without times, in the reader's time zone. */

const DAY_MS = 24 * 60 * 60 * 1000;

/** The local date as YYYY-MM-DD, `days` from now. */
export function isoDate(now, days = 0) {
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, 12);
  return new Date(day.getTime() - day.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** "today", "tomorrow", "yesterday", or a short date. */
export function dueText(due, now) {
  const days = Math.round((Date.parse(due) - Date.parse(isoDate(now))) / DAY_MS);
  if (Math.abs(days) <= 1) {
    return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(days, "day");
  }
  return new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" })
    .format(new Date(due));
}

/** 14:03:27 */
export const clockText = (date) =>
  new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }).format(date);

/** "0.4 ms", "12 ms", "3.2 s" */
export function durationText(ms) {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toFixed(1)} s`;
}
