/** The simulator in a thread of its own: it stops the clock of whatever it runs in. */

import { type LaneName, LANES, type LaneResult, type Setting } from "./lanes.js";
import { runLane } from "./run.js";
import { provideSetImmediate } from "./setImmediate.js";

provideSetImmediate();

export interface Order extends Setting {
  id: number;
}

export type News = { id: number } & ({ result: LaneResult } | { lane: LaneName; error: string });

let latest = 0;
let running = Promise.resolve();

onmessage = ({ data: order }: MessageEvent<Order>) => {
  latest = order.id;
  running = running.then(() => run(order));
};

async function run({ id, ...setting }: Order): Promise<void> {
  for (const lane of LANES) {
    // Another order has come meanwhile.
    if (id !== latest) return;
    try {
      postMessage({ id, result: await runLane(lane, setting) } satisfies News);
    } catch (error) {
      postMessage({ id, lane, error: String(error) } satisfies News);
    }
  }
}
