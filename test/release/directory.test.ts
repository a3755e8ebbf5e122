/** The automatic checks of convex.dev/components, which come before a person's review. release.test.ts checks the owner's fields. */
import { describe, expect, it } from "vitest";
import { filesIn, lines, manifest, read } from "../tidy/files.js";
import { directoryFaults } from "./directory.js";

/** The files that its reviewers see. */
const shown = [...filesIn("convex").filter((file) => file.endsWith(".ts")), "src/index.ts", "src/test.ts"];
const registering = ["convex/public.ts", "convex/queue.ts", "convex/sweep.ts", "convex/upkeep.ts"];

/** The exports that are not functions made by a builder of _generated/server from an object with args, returns and a handler. */
function oddIn(text: string): string[] {
  const exported = [
    ...text.matchAll(/^export const (\{[^}]+\}|\w+) = ([^]*?)(?=^(?:export|\/\/|\/\*\*|const|function) |$(?![^]))/gm),
  ];
  const isPlain = (body: string) =>
    /^(internal)?([qQ]uery|[mM]utation|[aA]ction)\(\{/.test(body) &&
    ["args()", "returns()"].every(
      (field) => body.includes(`  get ${field} {`) || body.includes(`  ${field.slice(0, -2)}: `),
    ) &&
    body.includes("  handler: ");
  return exported.filter(([, , body = ""]) => !isPlain(body)).map(([, name = ""]) => name);
}

describe("the components directory", () => {
  it("finds the keyword and the exports that apps need", () => {
    const { keywords } = JSON.parse(read("package.json")) as { keywords: string[] };
    expect(keywords).toContain("component");
    const needed = ["./convex.config.js", "./_generated/component.js", "./test"];
    expect(needed.filter((name) => !Object.hasOwn(manifest.exports, name))).toEqual([]);
  });

  it("finds the part of the README that it shows: once, with the installation", () => {
    expect(directoryFaults(read("README.md"))).toEqual([]);
    expect(directoryFaults("npm install")).toHaveLength(5);
  });

  it.each(registering)("%s exports each function by itself, with its validators", (file) => {
    expect(lines(file).filter((line) => /^export const \w+ = /.test(line)).length).toBeGreaterThan(2);
    expect(oddIn(read(file))).toEqual([]);
    expect(read(file)).toMatch(/^import \{[^}]*\} from "\.\/_generated\/server\.js";$/m);
  });

  it("the check finds a function without validators, a destructured one, and one of a generic builder", () => {
    const bare = "export const a = query({\n  handler: () => 1,\n});\n";
    const full = "export const b = query({\n  args: {},\n  returns: v.null(),\n  handler: () => null,\n});\n";
    expect(
      oddIn(`${bare}${full}export const { c, d } = functions();\n${full.replace("b = query", "e = queryGeneric")}`),
    ).toEqual(["a", "{ c, d }", "e"]);
  });

  it("sees no use of ctx.auth and no query filter", () => {
    expect(shown.filter((file) => /ctx\.auth|\.filter\(/.test(read(file)))).toEqual([]);
  });
});
