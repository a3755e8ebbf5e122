import { projectRateLimit, usageOf } from "convex-rate-limits/client";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import { useServerNow } from "convex-rate-limits/react";
import { useMutation } from "convex/react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Choice, Lead, Legend } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Cells } from "../stage/Cells.js";
import { Log, useLog } from "../stage/Log.js";
import { useLimit } from "../stage/useLimit.js";
import { amount, problem } from "../words.js";

const PLANS = [
  { value: "free", label: "Free" },
  { value: "pro", label: "Pro" },
] as const;
type Plan = (typeof PLANS)[number]["value"];
const SOME = 25;

export function Plans() {
  const { snapshot, now, value, capacity } = useLimit(api.stage.plans.quota, room, 1000);
  const call = useMutation(api.stage.plans.call);
  const choose = useMutation(api.stage.plans.choose);
  const serverNow = useServerNow();
  const { entries, say } = useLog();
  const fail = (error: unknown) => {
    say("stop", "refused", problem(error, serverNow()));
  };
  const send = (count: number) =>
    call({ room, count }).then((status) => {
      if (status.ok) say("go", "allowed", `${amount(count, "call")} · ${status.remaining} left`);
      else
        say("stop", "denied", `${amount(count, "call")} · again ${snapshot ? dateIn(snapshot, status.retryAt) : ""}`);
    }, fail);
  const change = (plan: Plan) =>
    choose({ room, plan }).then(() => {
      say("plain", plan, "What was used stays used.");
    }, fail);
  const some = [900, () => send(SOME)] as const;
  useAutoplay([
    some,
    some,
    some,
    some,
    some,
    [1800, () => change("pro")],
    [1800, () => send(SOME)],
    [2500, () => change("free")],
    [1200, () => send(1)],
    [6000, () => undefined],
  ]);
  // After a downgrade, more may be used than the plan has.
  const used = snapshot && usageOf(snapshot, now).used;
  const left = value === undefined ? undefined : Math.max(0, Math.floor(value));
  const next = snapshot && projectRateLimit(snapshot, { now, count: 1 });
  const until = next?.ok ? next.resetAt : next?.retryAt;
  return (
    <div className="flex flex-col gap-4">
      <Lead tryThis="use up the free plan, choose Pro, then go back to Free.">
        The server knows the plan, and the page reads how many calls are used, how many the plan has, and until when.
      </Lead>
      <div className="flex flex-wrap items-center gap-2">
        <Choice
          legend="Plan"
          options={PLANS}
          value={snapshot?.plan as Plan | undefined}
          onChange={(plan) => void change(plan)}
        />
        <CallButton look="primary" onClick={() => send(1)}>
          Call
        </CallButton>
        <CallButton onClick={() => send(SOME)}>{SOME} calls</CallButton>
      </div>
      <p className="min-h-20 sm:min-h-16" aria-label="Quota">
        <span
          className={`text-[2.6rem] leading-none font-bold tracking-[-0.03em] ${left === 0 ? "text-stop" : "text-go"}`}
        >
          {used === undefined ? "–" : Math.ceil(used).toLocaleString("en")}
        </span>{" "}
        <span className="text-[15px] text-muted">
          {value === undefined ? "Loading…" : `of ${capacity.toLocaleString("en")} used`}
          {snapshot && until !== undefined && ` · resets ${dateIn(snapshot, until)}`}
        </span>
      </p>
      <Cells value={value} capacity={capacity} label={`${left ?? 0} of ${amount(capacity, "call")} left`} />
      <p aria-hidden="true" className="-mt-2 flex items-center gap-x-4 text-[13px] text-muted">
        <Legend className="bg-go">left</Legend>
        <Legend className="empty-cell">used</Legend>
        <span className={`ml-auto font-medium ${left === 0 ? "text-stop" : "text-go"}`}>
          {left === undefined ? "…" : `${left.toLocaleString("en")} left`}
        </span>
      </p>
      <Log entries={entries} lines={8} empty="No call yet." />
    </div>
  );
}

/** A time in words, in the zone of the limit's calendar: "1 December, 00:00 Los Angeles". */
function dateIn({ config }: RateLimitSnapshot, time: number): string {
  const timeZone = "timeZone" in config && config.timeZone ? config.timeZone : "UTC";
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { timeZone, ...options }).format(time);
  const city = timeZone.split("/").at(-1)?.replaceAll("_", " ") ?? timeZone;
  return `${format({ day: "numeric", month: "long" })}, ${format({ hour: "2-digit", minute: "2-digit" })} ${city}`;
}
