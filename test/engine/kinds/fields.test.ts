/** The tables of fields, beside the validators that configs pass on the wire; each field's values are in limit.test.ts. */
import { describe, expect, it } from "vitest";
import { fieldsByKind } from "../../../src/engine/kinds/fields.js";
import { KINDS } from "../../../src/engine/kinds/index.js";
import { configValidator } from "../../../src/wire/configs.js";

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
