/** One check for each fact that docs/platform.md states about a deployment. */
import { ConvexHttpClient } from "convex/browser";
import { api } from "../../stage/convex/_generated/api.js";
import type { Check } from "./check.js";
import { openEmbedded } from "./target.js";

const subject = "Platform";
const DAY_MS = 86_400_000;
const FIVE_YEARS_MS = 5 * 366 * DAY_MS;
/** Time zones in one call. It is small because the platform gives a query one second. */
const ZONES_PER_CALL = 5;
/** The calls for zones that wait for their answers together. */
const AT_ONCE = 4;

export const facts: readonly Check[] = [
  {
    subject,
    name: "Date.now() within one mutation",
    expected: "stands still, also in a nested call",
    notEmbedded: "its clock does not stand still",
    calls: () => 1,
    run: async ({ http, rows }) => {
      const times = await http.mutation(api.prove.facts.clock, rows("clock"));
      const from = times[0] ?? 0;
      return {
        seen: `${times.map((at) => at - from).join(", ")} ms after the first`,
        holds: new Set(times).size === 1,
      };
    },
  },
  {
    subject,
    name: "Two sequences of a read and a write in one Promise.all",
    expected: "both read before either writes: 0 and 0 rows",
    calls: () => 1,
    run: async ({ http, rows }) => {
      const seen = await http.mutation(api.prove.facts.batches, rows("batches"));
      return { seen: `${seen.join(" and ")} rows`, holds: seen.every((count) => count === 0) };
    },
  },
  {
    subject,
    name: "An index on a field that may be absent, up to 5",
    expected: "rows without the field come first: none, -1, 1",
    calls: () => 1,
    run: async ({ http, rows }) => {
      const seen = await http.mutation(api.prove.facts.undefinedFirst, rows("undefined"));
      const text = seen.map((n) => n ?? "none").join(", ");
      return { seen: text, holds: text === "none, -1, 1" };
    },
  },
  {
    subject,
    name: "A start more than five years (5 · 366 days) away",
    expected: "is refused; one a day sooner is not",
    notEmbedded: "it refuses more than 24.8 days",
    calls: () => 2,
    run: async ({ http, secret }) => {
      const ask = (delayMs: number) => http.mutation(api.prove.facts.farAway, { secret, delayMs });
      const [far, near] = [await ask(FIVE_YEARS_MS + DAY_MS), await ask(FIVE_YEARS_MS - DAY_MS)];
      return { seen: `${outcome(far)}; a day sooner: ${outcome(near)}`, holds: far !== null && near === null };
    },
  },
  {
    subject,
    name: "A string with an unpaired surrogate",
    expected: "is refused",
    notEmbedded: "it accepts any string",
    calls: () => 1,
    run: async ({ http, rows }) => refusal(() => http.mutation(api.prove.facts.surrogate, rows("surrogate"))),
  },
  {
    subject,
    name: "A document of more than 1 MiB",
    expected: "is refused",
    notEmbedded: "it accepts any size",
    calls: () => 1,
    run: async ({ http, rows }) =>
      refusal(() => http.mutation(api.prove.facts.document, { ...rows("document"), bytes: 2 ** 20 })),
  },
  {
    subject,
    name: "A transaction that reads 4,097 ranges of an index",
    expected: "is refused",
    notEmbedded: "it does not count",
    calls: () => 1,
    run: async ({ http, rows, effort }) =>
      refusal(async () => {
        await http.query(api.prove.facts.ranges, { ...rows("ranges"), count: effort.name === "full" ? 4097 : 5 });
        return null;
      }),
  },
  {
    subject,
    name: "Time zones: the next three days, weeks and months",
    expected: `start when they do on Node.js ${process.versions.node} (tz ${process.versions["tz"] ?? "?"})`,
    notEmbedded: "it is Node.js",
    calls: ({ zones }) => Math.ceil(zones / ZONES_PER_CALL),
    seconds: () => 40,
    run: async ({ http, secret, effort, signal }) => {
      const names = Intl.supportedValuesOf("timeZone").slice(0, effort.zones);
      const from = Date.now();
      // The embedded backend runs the same function on Node.js.
      const reference = await openEmbedded(secret);
      const local = new ConvexHttpClient(reference.url, { logger: false });
      const different: string[] = [];
      const compare = async (some: string[]) => {
        const asked = { secret, names: some, from };
        const [theirs, ours] = await Promise.all([http, local].map((one) => one.query(api.prove.facts.zones, asked)));
        different.push(...some.filter((_, i) => theirs?.[i]?.join() !== ours?.[i]?.join()));
      };
      const parts = Array.from({ length: Math.ceil(names.length / ZONES_PER_CALL) }, (_, part) =>
        names.slice(part * ZONES_PER_CALL, (part + 1) * ZONES_PER_CALL),
      );
      for (let first = 0; first < parts.length && !signal.aborted; first += AT_ONCE) {
        await Promise.all(parts.slice(first, first + AT_ONCE).map(compare));
      }
      await reference.close();
      return {
        seen: `${names.length - different.length} of ${names.length} agree${different.length > 0 ? `; not ${different.slice(0, 10).join(", ")}` : ""}`,
        holds: different.length === 0,
      };
    },
  },
];

const outcome = (error: string | null) => (error === null ? "accepted" : `refused (${error.slice(0, 120)})`);

/** Whether an act is refused. The platform may refuse at the write, or only when the function ends. */
async function refusal(act: () => Promise<string | null>) {
  const error = await act().catch(String);
  return { seen: outcome(error), holds: error !== null };
}
