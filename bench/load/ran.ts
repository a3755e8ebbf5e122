/** Counts the functions that run: a measure of a load and of a call that has no noise. */
import inspector from "node:inspector/promises";
import vm from "node:vm";
import { build, type Case, type Profile } from "./bundles.js";
import { callIn, globals } from "./sandbox.js";

/** The numbers of functions that run while a module loads, and in one call after that. Those of convex are included. */
export interface Ran {
  readonly ranAtLoad: number;
  readonly ranInCall: number;
}

export async function countRan(name: Case, profile: Profile): Promise<Ran> {
  const text = await build(name, profile);
  const session = new inspector.Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const context = vm.createContext(globals());
    const filename = `${name}.js`;
    vm.runInContext(text, context, { filename });
    const ranAtLoad = await take(session, filename);
    await callIn(context, name);
    return { ranAtLoad, ranInCall: await take(session, filename) };
  } finally {
    session.disconnect();
  }
}

/** Returns the number of functions that ran since the last call of `take`, and resets the counts. */
async function take(session: inspector.Session, filename: string): Promise<number> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const script = result.find(({ url }) => url.endsWith(filename));
  return script?.functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length ?? 0;
}
