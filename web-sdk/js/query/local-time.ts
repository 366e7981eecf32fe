/** The date and time of the page, for prompts such as "What is due today?". */

const digits = (number: number, length = 2) => String(Math.trunc(Math.abs(number))).padStart(length, "0");

/** Returns the time with its offset and time zone, in the format of RFC 9557. */
export function localTime(now = new Date()): string {
  const offset = -now.getTimezoneOffset();
  const date = `${digits(now.getFullYear(), 4)}-${digits(now.getMonth() + 1)}-${digits(now.getDate())}`;
  const time = `${digits(now.getHours())}:${digits(now.getMinutes())}:${digits(now.getSeconds())}`;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${date}T${time}${offset < 0 ? "-" : "+"}${digits(offset / 60)}:${digits(offset % 60)}${zone ? `[${zone}]` : ""}`;
}
