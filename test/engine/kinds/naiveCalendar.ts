/**
 * The starts of calendar windows, found by walking and looking at the clocks: hour by hour, and by half minutes where an hour on
 * the clocks is not an hour. It has nothing in common with src, except that both ask `Intl` what the clocks show.
 */
import type { CalendarPeriod } from "../../../src/engine/kinds/calendar.js";

const HALF_MINUTE = 30_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A moment, and the latest time that the clocks have shown until then. */
interface Step {
  readonly moment: number;
  readonly latest: number;
}

/** The walk from `from` to `to`, both whole hours of UTC. */
export function walk(timeZone: string, from: number, to: number): Step[] {
  const show = clocks(timeZone);
  const steps: Step[] = [];
  let latest = -Infinity;
  const take = (moment: number, shown: number) => {
    latest = Math.max(latest, shown);
    steps.push({ moment, latest });
  };
  // What was shown more than two days before cannot be later than what is shown now.
  let hour = from - 2 * DAY;
  let shown = show(hour);
  while (hour < to) {
    take(hour, shown);
    const next = show(hour + HOUR);
    if (next - shown !== HOUR) {
      for (let moment = hour + HALF_MINUTE; moment < hour + HOUR; moment += HALF_MINUTE) take(moment, show(moment));
    }
    hour += HOUR;
    shown = next;
  }
  take(to, shown);
  return steps.filter(({ moment }) => moment >= from);
}

/** The moments, after the first step, at which a window starts. */
export function startsOn(steps: readonly Step[], period: CalendarPeriod, anchor: number): number[] {
  const starts: number[] = [];
  const labelOf = labels(period, anchor);
  for (const [index, { moment, latest }] of steps.entries()) {
    const previous = steps[index - 1];
    const label = labelOf(latest);
    if (!previous || labelOf(previous.latest) === label) continue;
    // Within a longer step the clocks ran evenly.
    let start = moment;
    const back = () => latest - (moment - (start - HALF_MINUTE));
    while (start - HALF_MINUTE > previous.moment && labelOf(back()) === label) start -= HALF_MINUTE;
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
  const tomorrow = new Date(date.getTime() + DAY);
  return date.getUTCDate() === anchor || (date.getUTCDate() < anchor && tomorrow.getUTCDate() === 1);
}

/** What the clocks of a zone show at a moment, as if it were UTC. */
function clocks(timeZone: string): (moment: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "short", timeStyle: "medium" });
  return (moment) => {
    const part = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
    const { year, month, day, hour, minute, second } = part as Record<Intl.DateTimeFormatPartTypes, number>;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}
