/** The backend's logical time: nanoseconds of the clock, but always later than the last, so that clients survive a restart. */

let last = 0n;

export function nextTimestamp(): bigint {
  const now = BigInt(Date.now()) * 1_000_000n;
  last = now > last ? now : last + 1n;
  return last;
}

/** As Convex sends an unsigned 64-bit number: its eight bytes, lowest first, in base64. */
export function encodeTimestamp(ts: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(ts);
  return bytes.toString("base64");
}
