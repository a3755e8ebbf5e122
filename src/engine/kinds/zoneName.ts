/** The names of time zones. */

/** Whether `Intl` knows the zone by an IANA name, such as "Europe/Berlin", "Etc/GMT+5" or "UTC". */
export function isTimeZone(timeZone: unknown): timeZone is string {
  // The names of three letters in the IANA time zone database.
  const IANA_ABBREVIATIONS = "CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET ";
  // Some runtimes also take offsets, and the abbreviations of ICU: "IST" is three zones, and ICU picks one.
  if (typeof timeZone !== "string" || !/^[a-z]/i.test(timeZone) || /^systemv\//i.test(timeZone)) return false;
  if (timeZone.length === 3 && !IANA_ABBREVIATIONS.includes(`${timeZone.toUpperCase()} `)) return false;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone });
    return true;
  } catch {
    return false;
  }
}
