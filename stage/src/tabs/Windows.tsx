import { useServerNow } from "convex-rate-limits/react";
import { projectRateLimit } from "convex-rate-limits/client";
import { useMutation } from "convex/react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Cells } from "../stage/Cells.js";
import { Log, useLog } from "../stage/Log.js";
import { StepChart } from "../stage/StepChart.js";
import { type LimitQuery, useLimit, usePast } from "../stage/useLimit.js";
import { amount, per, problem, wait } from "../words.js";

const KINDS = [
  { name: "Token bucket", says: "refills evenly, saves up", query: api.stage.windows.bucket },
  { name: "Fixed window", says: "full when each window starts", query: api.stage.windows.fixed },
  { name: "Sliding window", says: "never more in any period", query: api.stage.windows.sliding },
  { name: "Calendar window", says: "full at midnight in Berlin", query: api.stage.windows.calendar },
] as const;

export function Windows({ count }: { count: number }) {
  const call = useMutation(api.stage.windows.call);
  const reset = useMutation(api.stage.windows.reset);
  const now = useServerNow();
  const { entries, say } = useLog();
  const send = () =>
    call({ room, count }).then(
      (answers) => {
        const denied = KINDS.filter((_, kind) => !answers[kind]).map(({ name }) => name.toLowerCase());
        if (denied.length === 0) say("go", "allowed", `${amount(count, "token")} of each`);
        else say("stop", "denied", `by ${denied.join(", ")}`);
      },
      (error: unknown) => {
        say("stop", "refused", problem(error, now()));
      },
    );
  const refill = () =>
    reset({ room }).then(() => {
      say("plain", "refilled", "All four are full again.");
    });
  const quick = [350, send] as const;
  useAutoplay([
    quick,
    quick,
    quick,
    quick,
    quick,
    quick,
    quick,
    [3000, send],
    [3000, send],
    [3000, send],
    // The calendar window would deny until midnight.
    [4000, refill],
  ]);
  return (
    <div className="flex flex-col gap-3">
      <Lead tryThis="call quickly until all four deny, then once every three seconds.">
        The same call on four limits, which differ in when calls come back.
      </Lead>
      <div className="flex gap-2">
        <CallButton look="primary" onClick={send}>
          Call all four
        </CallButton>
        <CallButton onClick={refill}>Refill</CallButton>
      </div>
      {KINDS.map((kind) => (
        <Lane key={kind.name} {...kind} />
      ))}
      <Log entries={entries} lines={3} empty="No call yet." />
    </div>
  );
}

function Lane({ name, says, query }: { name: string; says: string; query: LimitQuery }) {
  const { snapshot, now, value, capacity } = useLimit(query, room, 120);
  const past = usePast(snapshot);
  const whole = Math.floor(value ?? 0);
  const next = snapshot && projectRateLimit(snapshot, { now, count: 1 });
  return (
    <div
      role="group"
      aria-label={name}
      className="grid grid-cols-[8.4rem_minmax(0,1fr)] gap-x-3 sm:grid-cols-[10.5rem_minmax(0,1fr)]"
    >
      <p className="text-sm leading-snug">
        <span className="font-medium">{name}</span>
        <span className="block text-xs text-muted">{says}</span>
        <span className="block text-xs text-muted">
          {snapshot ? `${snapshot.config.rate} ${per(snapshot.config.period ?? 0)}` : "…"}
        </span>
        <span className={`block text-xs font-medium ${next?.ok === false ? "text-stop" : "text-go"}`}>
          {next === undefined ? "…" : next.ok ? `${whole} left` : `again in ${wait(next.retryAt - now)}`}
        </span>
      </p>
      <div>
        <Cells value={value} capacity={capacity} label={`${name}: ${whole} of ${capacity} left`} className="h-5" />
        <div className="mt-1">
          <StepChart past={past} now={now} height="h-9" label={`${name}, the last half minute`} />
        </div>
      </div>
    </div>
  );
}
