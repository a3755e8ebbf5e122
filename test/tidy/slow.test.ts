// @vitest-environment node
import { expect, it } from "vitest";
import { slow } from "../../vitest.config.js";
import { files } from "./files.js";

it("npm run test:fast leaves out files that exist", () => {
  expect(slow.filter((file) => !files.includes(file))).toEqual([]);
});
