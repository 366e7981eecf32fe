/** How many processes a computer has room for. */

import { totalmem } from "node:os";

const MIN_PROCESS_MB = 128;
const MAX_PROCESS_MB = 256;
/** The part of the memory that a process may need at most, and the part that all of them may. */
const PROCESS_SHARE = 1 / 32;
const ALL_SHARE = 3 / 4;
const MB = 1024 * 1024;

/** The memory that this process and those that it starts may use, in MB: that of its container, or of the computer. */
export function availableMemoryMb(): number {
  return Math.floor(Math.min(totalmem(), process.constrainedMemory() || Infinity) / MB);
}

/** Returns how much memory a session process may have, in MB. */
export const defaultProcessMemoryMb = (memoryMb: number): number => Math.round(Math.min(MAX_PROCESS_MB, Math.max(MIN_PROCESS_MB, memoryMb * PROCESS_SHARE)));

/** Returns how many session processes there may be, if each takes all that it may have. */
export const defaultMaxProcesses = (memoryMb: number, processMemoryMb: number): number => Math.max(1, Math.floor((memoryMb * ALL_SHARE) / processMemoryMb));
