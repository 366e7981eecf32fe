/** The log of the command, on the standard error. Nothing waits for its reader, and nothing fails if there is none. */

/** Maximum length of what waits for a reader that does not read, in bytes. Further lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The number of lines that were dropped since the last report of it. */
let dropped = 0;

/** Writes a line, and before it how many could not be written. */
export function logLine(text: string): void {
  const { stderr } = process;
  if (stderr.writableLength > MAX_WAITING_BYTES) {
    dropped += 1;
    return;
  }
  const report = dropped > 0 ? `${dropped} lines of the log could not be written\n` : "";
  const lines = dropped + 1;
  dropped = 0;
  stderr.write(`${report}${text}\n`, (error) => {
    if (error) dropped += lines;
  });
}
