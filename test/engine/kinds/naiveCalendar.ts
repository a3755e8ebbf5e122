/**
 * The starts of calendar windows, found by a walk that reads the clocks each hour, and each half minute if the clocks change within
 * the hour. The walk shares nothing with src, except that both ask `Intl` what the clocks show.
 */
import type { CalendarPeriod } from "../../../src/engine/kinds/calendar.js";

const HALF_MINUTE = 30_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A time, and the latest local time that the clocks have shown until then. */
interface Step {
  readonly time: number;
  readonly latest: number;
}

/** The walk from `from` to `to`, both whole hours of UTC. */
export function walk(timeZone: string, from: number, to: number): Step[] {
  const show = clocks(timeZone);
  const steps: Step[] = [];
  let latest = -Infinity;
  const take = (time: number, shown: number) => {
    latest = Math.max(latest, shown);
    steps.push({ time, latest });
  };
  // A time that was shown more than two days earlier cannot be later than the time shown now.
  let hour = from - 2 * DAY;
  let shown = show(hour);
  while (hour < to) {
    take(hour, shown);
    const next = show(hour + HOUR);
    if (next - shown !== HOUR) {
      for (let time = hour + HALF_MINUTE; time < hour + HOUR; time += HALF_MINUTE) take(time, show(time));
    }
    hour += HOUR;
    shown = next;
  }
  take(to, shown);
  return steps.filter(({ time }) => time >= from);
}

/** The times after the first step at which a window starts. */
export function startsOn(steps: readonly Step[], period: CalendarPeriod, anchor: number): number[] {
  const starts: number[] = [];
  const labelOf = labels(period, anchor);
  for (const [index, { time, latest }] of steps.entries()) {
    const previous = steps[index - 1];
    const label = labelOf(latest);
    if (!previous || labelOf(previous.latest) === label) continue;
    // The clocks run evenly within a step of more than half a minute.
    let start = time;
    const back = () => latest - (time - (start - HALF_MINUTE));
    while (start - HALF_MINUTE > previous.time && labelOf(back()) === label) start -= HALF_MINUTE;
    starts.push(start);
  }
  return starts;
}

/** The date on which the window of a local time begins, looked up once for each date. */
function labels(period: CalendarPeriod, anchor: number): (local: number) => string {
  const known = new Map<number, string>();
  return (local) => {
    const day = Math.floor((period === "day" ? local - anchor * 60_000 : local) / DAY);
    const label = known.get(day) ?? labelOf(new Date(day * DAY), period, anchor);
    known.set(day, label);
    return label;
  };
}

function labelOf(date: Date, period: CalendarPeriod, anchor: number): string {
  while (!begins(date, period, anchor)) date.setUTCDate(date.getUTCDate() - 1);
  return date.toDateString();
}

function begins(date: Date, period: CalendarPeriod, anchor: number): boolean {
  if (period === "day") return true;
  if (period === "week") return date.getUTCDay() === anchor % 7;
  if (period === "year") return date.getUTCDate() === 1 && date.getUTCMonth() + 1 === anchor;
  const tomorrow = new Date(date.getTime() + DAY);
  return date.getUTCDate() === anchor || (date.getUTCDate() < anchor && tomorrow.getUTCDate() === 1);
}

/** Returns a function from a time to what the clocks of the zone show then, as if that were UTC. */
function clocks(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "short", timeStyle: "medium" });
  return (time) => {
    const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
    const { year, month, day, hour, minute, second } = part as Record<Intl.DateTimeFormatPartTypes, number>;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}
