/** When the offsets of a time zone change, by the `Intl` that this runs on: the driver runs the same on Node.js. */
const HOUR_MS = 3_600_000;

/**
 * The offset at a time and every later one that differs from that of the six hours before, as "time offset" in hours and minutes;
 * undefined for a zone that this platform does not know.
 */
export function offsetChanges(timeZone: string, from: number, days: number): string[] | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    return undefined;
  }
  const changes: string[] = [];
  let last: number | undefined;
  for (let at = from; at < from + days * 24 * HOUR_MS; at += 6 * HOUR_MS) {
    const offset = offsetAt(format, at);
    if (offset !== last) changes.push(`${at / HOUR_MS} ${offset}`);
    last = offset;
  }
  return changes;
}

/** In minutes. */
function offsetAt(format: Intl.DateTimeFormat, at: number): number {
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = (format.format(at).match(/\d+/g) ?? []).map(Number);
  return (Date.UTC(year, month - 1, day, hour, minute) - at) / 60_000;
}
