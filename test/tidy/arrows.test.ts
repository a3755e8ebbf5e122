/** Which room may import which: http → client → queue → operations → storage → engine → wire. An import that is not listed here fails. */
import path from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { files, read } from "./files.js";
import { drawing, MAY_IMPORT } from "./rooms.js";

interface Import {
  readonly from: string;
  readonly to: string;
}

/** Single imports that are also allowed, each with its reason. */
const EXCEPTIONS: readonly (Import & { reason: string })[] = [
  { from: "convex/public.ts", to: "src/engine/request.ts", reason: "the wire's arguments are parsed on arrival" },
  { from: "convex/snapshots.ts", to: "src/engine/request.ts", reason: "the wire's arguments are parsed on arrival" },
  { from: "convex/upkeep.ts", to: "src/engine/request.ts", reason: "the wire's arguments are parsed on arrival" },
  { from: "convex/upkeep.ts", to: "src/engine/adjustment.ts", reason: "charges and refunds are parsed on arrival" },
  { from: "convex/schema.ts", to: "src/storage/schema.ts", reason: "the component's table is the app's table" },
  { from: "convex/schema.ts", to: "src/storage/queueSchema.ts", reason: "the component's queue tables are the app's" },
  { from: "convex/sweep.ts", to: "src/storage/rows.ts", reason: "a sweep identifies a bucket without its config" },
];
/** Files that every room may import, so that arguments are checked, and misuse is worded, in one way. */
const OF_ALL_ROOMS: readonly string[] = ["src/engine/misuse.ts", "src/engine/fields.ts"];

const sourceFiles = files.filter((file) => /^(src|convex)\/.*\.tsx?$/.test(file));
const imports = sourceFiles.flatMap(importsOf);

/** A file's imports of other files of the project, static or dynamic, of values or of types. */
function importsOf(file: string): Import[] {
  return ts
    .preProcessFile(read(file), true, true)
    .importedFiles.filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => ({
      from: file,
      to: path.posix.join(path.posix.dirname(file), fileName).replace(/\.js$/, ".ts"),
    }));
}

/** The imports of circles, and of the ways from one circle to another: all others are removed, those at the ends first. */
function circularIn(all: readonly Import[]): readonly Import[] {
  const importing = new Set(all.map(({ from }) => from));
  const imported = new Set(all.map(({ to }) => to));
  const left = all.filter(({ from, to }) => importing.has(to) && imported.has(from));
  return left.length === all.length ? left : circularIn(left);
}

function roomOf(file: string): string {
  if (file.startsWith("convex/_generated/")) return "generated";
  if (file.startsWith("convex/")) return "convex";
  return /^src\/(\w+)/.exec(file)?.[1] ?? file;
}

/** Whether a file may import another one: within its room, from a room that it may import, or as an exception. */
function isAllowed({ from, to }: Import): boolean {
  const [room, target] = [roomOf(from), roomOf(to)];
  if (room === target || MAY_IMPORT[room]?.includes(target) || OF_ALL_ROOMS.includes(to)) return true;
  return EXCEPTIONS.some((one) => one.from === from && one.to === to);
}

describe("the rooms", () => {
  it("have only the imports that are listed here", () => {
    expect(imports.filter((arrow) => !isAllowed(arrow))).toEqual([]);
  });

  it("are all listed, and every imported file exists", () => {
    expect([...new Set(sourceFiles.map(roomOf))].filter((room) => !Object.hasOwn(MAY_IMPORT, room))).toEqual([]);
    const missing = imports.filter(({ to }) => !to.startsWith("convex/_generated/") && !sourceFiles.includes(to));
    expect(missing).toEqual([]);
    expect(imports.length).toBeGreaterThan(150);
  });

  it("have no arrow and no exception that nobody uses", () => {
    const arrows = Object.entries(MAY_IMPORT).flatMap(([from, rooms]) => rooms.map((to) => ({ from, to })));
    const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} → ${roomOf(to)}`));
    expect(arrows.filter(({ from, to }) => !used.has(`${from} → ${to}`))).toEqual([]);
    const needless = EXCEPTIONS.filter(({ from, to }) => !imports.some((one) => one.from === from && one.to === to));
    expect(needless).toEqual([]);
  });

  it("are drawn as they are: npm run check:repository -- -u arrows draws them again", async () => {
    await expect(drawing()).toMatchFileSnapshot("../../docs/pictures/rooms.svg");
  });

  it("have no circle of imports, types included; only files that Convex generates may have one", () => {
    const written = files.filter((file) => /\.tsx?$/.test(file) && !file.includes("/_generated/"));
    expect(circularIn(written.flatMap(importsOf))).toEqual([]);
  });

  it("the check finds circles: of types, of a file with itself, and through other files", () => {
    const chain = (...names: string[]) => names.slice(1).map((to, i) => ({ from: names[i] ?? "", to }));
    const circles = [...chain("a", "a"), ...chain("x", "y", "x")];
    expect(circularIn([...circles, ...chain("b", "y", "c")])).toEqual(circles);
    expect(importsOf("src/client/args.ts").map(({ to }) => to)).toContain("src/wire/configs.ts");
  });
});
