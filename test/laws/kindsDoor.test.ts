/** Nothing but a kind itself knows which kind a limit is: a new kind changes no other file. */
import { expect, it } from "vitest";
import { KINDS } from "../../src/engine/kinds/index.js";

/** The wire names the kinds, which is its task, and `compat` speaks of those that the other package has. */
const ALLOWED = [
  "src/compat/calculate.ts",
  "src/compat/config.ts",
  "src/compat/rateLimiter.ts",
  "src/compat/value.ts",
  "src/configs.ts",
];

const sources = import.meta.glob<string>(["../../src/**/*.{ts,tsx}", "../../convex/*.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

it("no file outside of src/engine/kinds asks for the kind of a limit", () => {
  const names = Object.keys(KINDS).join("|");
  const asks = new RegExp(
    `["'\`](${names})["'\`]|(?<!typeof )config\\.kind\\s*[!=]==|switch \\((\\w+\\.)*config\\.kind\\)|kind\\.name\\s*[!=]==`,
  );
  const asking = Object.entries(sources)
    .map(([path, text]) => ({ path: path.replace("../../", ""), text: withoutComments(text) }))
    .filter(({ path, text }) => !path.startsWith("src/engine/kinds/") && asks.test(text))
    .map(({ path }) => path);
  expect(Object.keys(sources).length).toBeGreaterThan(40);
  expect(asking.sort()).toEqual(ALLOWED);
});
