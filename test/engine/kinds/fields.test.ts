/** The tables of fields, compared with the validators of configs on the wire, and the names of time zones. limit.test.ts tests all values. */
import { describe, expect, it } from "vitest";
import { fieldsByKind, isTimeZone } from "../../../src/engine/kinds/fields.js";
import { KINDS } from "../../../src/engine/kinds/limit.js";
import { configValidator } from "../../../src/wire/configs.js";

describe("the fields of a kind", () => {
  it("exist for each kind of the registry, and for no other", () => {
    expect(Object.keys(fieldsByKind())).toEqual(Object.keys(KINDS));
  });

  it("are those of its validator, and the same ones are optional", () => {
    const onTheWire = configValidator().members.map(({ fields }) => [
      fields.kind.value,
      Object.fromEntries(Object.entries(fields).map(([name, { isOptional }]) => [name, isOptional === "required"])),
    ]);
    const inTables = Object.entries(fieldsByKind()).map(([kind, fields]) => [
      kind,
      // The kind chose the table, so it is required.
      {
        kind: true,
        ...Object.fromEntries(Object.entries(fields).map(([name, { isRequired = false }]) => [name, isRequired])),
      },
    ]);
    expect(inTables).toEqual(onTheWire);
  });
});

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
