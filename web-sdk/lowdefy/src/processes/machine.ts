/** Determines how many processes fit on a computer. */

import { totalmem } from "node:os";

const MIN_PROCESS_MB = 128;
const MAX_PROCESS_MB = 256;
/** Maximum share of the memory for one process, and for all of them. */
const PROCESS_SHARE = 1 / 32;
const ALL_SHARE = 3 / 4;
const MB = 1024 * 1024;

/** Returns the memory for this process and its children, in MB: that of its container, or of the computer. */
export function availableMemoryMb(): number {
  return Math.floor(Math.min(totalmem(), process.constrainedMemory() || Infinity) / MB);
}

/** Returns the maximum memory of a session process, in MB. */
export const defaultProcessMemoryMb = (memoryMb: number): number => Math.round(Math.min(MAX_PROCESS_MB, Math.max(MIN_PROCESS_MB, memoryMb * PROCESS_SHARE)));

/** Returns the maximum number of session processes, if each uses its maximum memory. */
export const defaultMaxProcesses = (memoryMb: number, processMemoryMb: number): number => Math.max(1, Math.floor((memoryMb * ALL_SHARE) / processMemoryMb));
