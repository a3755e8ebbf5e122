/** The backend's logical time, in nanoseconds. Each is later than the last. It follows the clock, so that clients survive a restart. */

let last = 0n;

export function nextTimestamp(): bigint {
  const now = BigInt(Date.now()) * 1_000_000n;
  last = now > last ? now : last + 1n;
  return last;
}

/** Encodes a timestamp as Convex sends an unsigned 64-bit number: its eight bytes, lowest first, in base64. */
export function encodeTimestamp(ts: bigint): string {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, ts, true);
  return btoa(String.fromCharCode(...bytes));
}
