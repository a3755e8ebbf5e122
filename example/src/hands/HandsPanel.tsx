import { useRateLimit } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import { api } from "../../convex/_generated/api.js";
import { Panel } from "../Panel.js";
import { room } from "../room.js";
import { Calls } from "./Calls.js";
import { Gauge } from "./Gauge.js";
import { LimitForm } from "./LimitForm.js";
import { MinuteChart } from "./MinuteChart.js";

export function HandsPanel({ className }: { className?: string }) {
  return (
    <Panel
      number={1}
      title="A limit under your hands"
      explanation="Every call takes tokens from the bucket; when there are too few it is denied and told the millisecond at which the same call will succeed. A reservation takes tokens of the future instead, and the bucket owes them."
      {...(className && { className })}
    >
      <Hands />
    </Panel>
  );
}

function Hands() {
  const snapshot = useQuery(api.playground.hands, { key: room });
  const history = useQuery(api.playground.history, { room });
  // Measures the server's clock for the whole page. It asks about nothing, which any limit can serve.
  const { check } = useRateLimit(api.playground.hands, {
    key: room,
    count: 0,
    getServerTime: api.playground.getServerTime,
  });
  const configure = useMutation(api.playground.configure);
  return (
    <div className="grid gap-6 lg:grid-cols-[17rem_minmax(0,1fr)]">
      <LimitForm config={snapshot?.config} configure={(changes) => configure({ room, ...changes })} />
      <div className="flex min-w-0 flex-col gap-5">
        <Gauge snapshot={snapshot} check={check} />
        <Calls />
        <MinuteChart snapshot={snapshot} history={history} />
      </div>
    </div>
  );
}
