/** The list of planted faults is useful only while each fault can be planted. */
import { describe, expect, it } from "vitest";
import { files, read } from "../tidy/files.js";
import { faults } from "../model/faults/list.js";

describe("a planted fault", () => {
  it.each(faults.map((fault) => [fault.name, fault] as const))(
    "%s: has its place",
    (_name, { file, from, to, test }) => {
      expect(read(`src/${file}`).split(from)).toHaveLength(2);
      expect(to).not.toBe(from);
      if (test !== undefined) expect(files).toContain(test);
    },
  );
});
