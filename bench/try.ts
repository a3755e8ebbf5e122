import { simulate } from "./simulator/simulation.js";
import { ours } from "./simulator/ours.js";
import { peer } from "./simulator/peer.js";
for (const d of [peer(1), ours(1), peer(64)]) {
  const t = performance.now();
  const m = await simulate(
    d,
    {
      limit: { kind: "token bucket", rate: 1000, period: 1000, capacity: 2000 },
      callers: { kind: "open", pattern: "poisson", demand: 3000, counts: { from: 1, to: 1 } },
      seconds: 5,
      probes: 0,
    },
    { seed: "1" },
  );
  console.log(m.attemptsPerCall * m.calls, ((performance.now() - t) / 1000).toFixed(1) + "s");
}
