/** The types of the component's functions, compared with version 2: an app that is upgraded keeps what it has scheduled. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import * as publicFunctions from "../../convex/public.js";
import * as sweep from "../../convex/sweep.js";
import * as upkeep from "../../convex/upkeep.js";

/** A hash of each function's arguments and result in version 2 (commit cacbdab), with sorted fields. */
const VERSION_2: Record<string, string> = {
  "public:adjust": "41a152cb4a40f3d7",
  "public:adjustAll": "d41a09fa3b2e2d6d",
  "public:check": "0ccb2f001acf5fda",
  "public:checkAll": "5b385138cd940c81",
  "upkeep:clearOverride": "bc1de92d5c58e629",
  "public:consume": "0ccb2f001acf5fda",
  "public:consumeAll": "5b385138cd940c81",
  "public:get": "69b9d09b172081c6",
  "upkeep:list": "ecd6a3127a44e967",
  "upkeep:override": "7e0dee0e658a5f9c",
  "public:reset": "bc1de92d5c58e629",
  "sweep:find": "8d01a15af7d454f7",
  "sweep:sweep": "c0787ad570b0b0f5",
};

/** Replacements that undo the changes since version 2: new optional fields, and required fields that became optional. */
const SINCE: [RegExp, string][] = [
  [/,takenAt\?:number/g, ""],
  [/refundable\?:boolean,/g, ""],
  [/(?<=:any>,|^{)at\?:number,(?=.*(used:number| => null$))/g, ""],
  [/attempts\?:number,/g, ""],
  [/,turn\?:\{.*\}(?=\} => null)/g, ""],
  [/plan\?:null\|string,/g, ""],
  [/,plan\?:string/g, ""],
  [/,plans\?:\[\{.*?,plan:string\}\]/g, ""],
  [/renews\?:boolean,/g, ""],
  [/,renews\?:number/g, ""],
  [/renewsAt\?:number,/g, ""],
  [/override\?:\{config\?:.*?,unlimited\?:true\},/g, ""],
  // These are fields of a snapshot.
  [/\b(lastStart|lastsMs|restMs|windowsFrom|count)(?=\?:number(,(lastsMs|maxReserved|runs|value|period)|}))\?/g, "$1"],
  [/unitsPerToken:number,value/g, "unitsPerToken:number,until:number,value"],
];

interface Registered {
  exportArgs: () => string;
  exportReturns: () => string;
}
interface Exported {
  type: string;
  value: unknown;
  tableName?: string;
  keys: Exported;
  values: { fieldType: Exported };
}

const functions = Object.entries({ public: publicFunctions, sweep, upkeep }).flatMap(([module, all]) =>
  Object.entries(all).map(([name, registered]) => {
    const fn = registered as unknown as Registered;
    const types = [fn.exportArgs(), fn.exportReturns()].map((text) => describeType(JSON.parse(text) as Exported));
    return [`${module}:${name}`, types.join(" => ")] as const;
  }),
);

function describeType({ type, value, tableName, keys, values }: Exported): string {
  if (type === "union") return (value as Exported[]).map(describeType).sort().join("|");
  if (type === "array") return `[${describeType(value as Exported)}]`;
  if (type === "literal") return JSON.stringify(value);
  if (type === "record") return `<${describeType(keys)}:${describeType(values.fieldType)}>`;
  if (type !== "object") return tableName === undefined ? type : `${type}:${tableName}`;
  const fields = Object.entries(value as Record<string, { fieldType: Exported; optional: boolean }>);
  const texts = fields.map(([name, field]) => [name, `${field.optional ? "?" : ""}:${describeType(field.fieldType)}`]);
  const sorted = texts.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  return `{${sorted.map((parts) => parts.join("")).join(",")}}`;
}

describe("the component's functions", () => {
  it.each(functions.filter(([name]) => name in VERSION_2))("%s has the types of version 2", (name, now) => {
    const before = SINCE.reduce((text, [added, old]) => text.replace(added, old), now);
    const hash = createHash("sha256").update(before).digest("hex").slice(0, 16);
    expect(hash, now).toBe(VERSION_2[name]);
  });

  it("are those of version 2, plus a pause, findWorkers for sweeps, and workQueue for all that a worker's mutations did", () => {
    const names = functions.map(([name]) => name).sort();
    expect(names).toEqual([...Object.keys(VERSION_2), "public:pause", "sweep:findWorkers"].sort());
  });
});
