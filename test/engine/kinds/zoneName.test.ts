/** The names of time zones. */
import { describe, expect, it } from "vitest";
import { isTimeZone } from "../../../src/engine/kinds/fields.js";

const zones = Intl.supportedValuesOf("timeZone");

describe("a time zone", () => {
  it("has an IANA name", () => {
    const names = ["UTC", "GMT", "CET", "Etc/GMT+5", "Europe/Berlin", "Asia/Kolkata", "Asia/Calcutta", "US/Pacific"];
    for (const name of [...names, "Japan", "EST5EDT", "America/Argentina/Buenos_Aires", "Africa/Monrovia"]) {
      expect([name, isTimeZone(name)]).toEqual([name, true]);
    }
  });

  it("cannot be an offset, an abbreviation of several zones, or anything else", () => {
    const abbreviations = ["IST", "PST", "BST", "ist", "SystemV/PST8", "local"];
    const names = ["", " ", "+01:00", "-05", ...abbreviations, "Europe/Berlin ", "Mars/X"];
    for (const name of [...names, "Europe", "Europe/", undefined, null, 1, {}, ["UTC"]]) {
      expect([name, isTimeZone(name)]).toEqual([name, false]);
    }
  });

  it("may be any zone that Intl lists, in upper or lower case", () => {
    expect(zones.filter((zone) => !isTimeZone(zone) || !isTimeZone(zone.toLowerCase()))).toEqual([]);
  });
});
