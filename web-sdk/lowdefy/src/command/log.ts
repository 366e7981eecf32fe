/** The log of the command, on the standard error. It never waits for a reader, and never fails without one. */

/** Maximum size of the lines that wait for a slow reader, in bytes. Further lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** The number of lines that were dropped since the last report of it. */
let dropped = 0;

/** Writes a line, after a report of the number of dropped lines. */
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
