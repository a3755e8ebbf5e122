/** The tables of fields, beside the validators that configs pass on the wire; each field's values are in limit.test.ts. */
import type { RateLimitConfig } from "convex-rate-limits";
import { describe, expect, it } from "vitest";
import { ANCHORS, checkConfig, fieldsByKind } from "../../../src/engine/kinds/fields.js";
import { KINDS } from "../../../src/engine/kinds/index.js";
import { configValidator, type FixedWindowConfig } from "../../../src/wire/configs.js";

const DAY_MS = 86_400_000;
const days = Array.from({ length: 366 }, (_, i) => new Date(Date.UTC(2024, 0, 1) + i * DAY_MS));

describe("the fields of a kind", () => {
  it("are there for each kind of the registry, and for no other", () => {
    expect(Object.keys(fieldsByKind())).toEqual(Object.keys(KINDS));
  });

  it("are those of its validator, and as optional", () => {
    const onTheWire = configValidator().members.map(({ fields }) => [
      fields.kind.value,
      Object.fromEntries(Object.entries(fields).map(([name, { isOptional }]) => [name, isOptional === "required"])),
    ]);
    const inTables = Object.entries(fieldsByKind()).map(([kind, fields]) => [
      kind,
      // The kind has chosen the table.
      Object.fromEntries(
        Object.entries(fields).map(([name, { isRequired = false }]) => [name, name === "kind" || isRequired]),
      ),
    ]);
    expect(inTables).toEqual(onTheWire);
  });
});

describe("the anchors of a calendar's periods", () => {
  it("are the days of a month, the weekdays and the minutes of a day", () => {
    const isAccepted = (period: FixedWindowConfig["period"], anchor: number) => {
      const config: RateLimitConfig = { kind: "fixed window", rate: 1, period, anchor };
      try {
        checkConfig("some", config);
        return true;
      } catch {
        return false;
      }
    };
    const found = (period: FixedWindowConfig["period"]) =>
      Array.from({ length: 3000 }, (_, i) => i - 1500).filter((anchor) => isAccepted(period, anchor));
    const distinct = (numbers: number[]) => [...new Set(numbers)].sort((a, b) => a - b);
    expect(found("month")).toEqual(distinct(days.map((day) => day.getUTCDate())));
    expect(found("week")).toEqual(distinct(days.map((day) => day.getUTCDay() || 7)));
    expect(found("day")).toEqual(Array.from({ length: DAY_MS / 60_000 }, (_, minute) => minute));
    expect(found(DAY_MS)).toEqual([]);
    expect(Object.keys(ANCHORS)).toEqual(["day", "week", "month"]);
  });
});
