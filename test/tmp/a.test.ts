import { it, vi } from "vitest";
import { NOW, useClock } from "../support/clock.js";
import { useBackend } from "../support/limits.js";
useClock();
const { define, rows } = useBackend("tables");
it("splits", async () => {
  const l = define({ hot: { kind: "token bucket", rate: 1000, period: 1000, shards: "auto" }, four: { kind: "token bucket", rate: 1000, period: 1000, shards: {atLeast:4,atMost:4} } });
  for (let i = 0; i < 20; i++) { vi.setSystemTime(NOW + i); await l.rateLimit({ name: "hot", key: "a" }); await l.rateLimit({name: "four"}); }
  console.log((await rows()).map((r) => [r.name, r.shard, r.value]));
});
