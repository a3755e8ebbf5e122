/** The tables of fields, compared with the validators of configs on the wire. limit.test.ts tests the values of each field. */
import { describe, expect, it } from "vitest";
import { fieldsByKind } from "../../../src/engine/kinds/fields.js";
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
      Object.fromEntries(
        Object.entries(fields).map(([name, { isRequired = false }]) => [name, name === "kind" || isRequired]),
      ),
    ]);
    expect(inTables).toEqual(onTheWire);
  });
});
