/** Runs the simulator for one lane in its own thread, because the simulator stops the clock of its thread. */

import type { LaneName, LaneResult, Setting } from "./lanes.js";
import { runLane } from "./run.js";

export interface Order extends Setting {
  lane: LaneName;
}

export type News = { result: LaneResult } | { error: string };

onmessage = ({ data: { lane, ...setting } }: MessageEvent<Order>) => {
  runLane(lane, setting).then(
    (result) => {
      postMessage({ result } satisfies News);
    },
    (error: unknown) => {
      postMessage({ error: String(error) } satisfies News);
    },
  );
};
