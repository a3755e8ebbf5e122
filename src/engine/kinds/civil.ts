/** Dates of the Gregorian calendar as whole numbers: months and days since the first of January 1970. */

export const DAY_MS = 86_400_000;

/** The day on which a month begins; month 0 is January 1970, day 0 its first day. */
export function firstDayOf(month: number): number {
  // From the first of March of the year 0 to the first of January 1970.
  const MONTHS_TO_1970 = 12 * 1970 - 2;
  const DAYS_TO_1970 = 719_468;
  // A year that begins in March ends with its leap day, so the leap days before a month follow from the year alone.
  const fromMarch = month + MONTHS_TO_1970;
  const year = Math.floor(fromMarch / 12);
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
  // From March on the lengths repeat 31, 30, 31, 30, 31: 153 days in five months.
  const daysInYear = Math.floor((153 * (fromMarch - 12 * year) + 2) / 5);
  return 365 * year + leapDays + daysInYear - DAYS_TO_1970;
}
