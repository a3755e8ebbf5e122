/** The simulator in a thread of its own, for one lane: it stops the clock of whatever it runs in. */

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
