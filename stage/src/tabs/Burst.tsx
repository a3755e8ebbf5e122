import type { RateLimitStatus } from "convex-rate-limits";
import type { RateLimitSnapshot } from "convex-rate-limits/live";
import { useRateLimit, useServerNow } from "convex-rate-limits/react";
import { useConvex, useMutation } from "convex/react";
import { useEffect, useRef, useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Cells } from "../stage/Cells.js";
import { Log, type Say, useLog } from "../stage/Log.js";
import { StepChart } from "../stage/StepChart.js";
import { type LimitNow, useLimit, usePast } from "../stage/useLimit.js";
import { amount, per, problem, wait } from "../words.js";

/** 20 calls a second, for at most 3 s. */
const HAMMER_EVERY_MS = 50;
const HAMMER_FOR_MS = 3000;

export function Burst({ count }: { count: number }) {
  const limit = useLimit(api.stage.burst.bucket, room);
  const past = usePast(limit.snapshot);
  const { entries, say } = useLog();
  const call = useCall(say);
  const reset = useMutation(api.stage.burst.reset);
  const [isHammering, toggleHammer] = useHammer(() => void call(1, false));
  useAutoplay([
    [0, () => call(count, false)],
    [1200, () => call(1, false)],
    [900, () => call(count, false)],
    [900, () => call(count, false)],
    [900, () => call(count, true)],
    [5000, () => undefined],
  ]);
  return (
    <div className="flex flex-col gap-3.5">
      <Lead tryThis={`press “Send ${count}” until it is denied, then “At that ms?”.`}>
        A token bucket lets a burst through, then a steady rate, and a denial says when the same call succeeds.
      </Lead>
      <Level {...limit} noun="token" />
      <div className="grid grid-cols-2 gap-2 sm:flex sm:flex-wrap">
        <CallButton look="primary" onClick={() => call(1, false)}>
          Send 1
        </CallButton>
        {count !== 1 && <CallButton onClick={() => call(count, false)}>Send {count}</CallButton>}
        <CallButton look="later" onClick={() => call(count, true)}>
          Reserve {count}
        </CallButton>
        <CallButton look="stop" isPressed={isHammering} onClick={toggleHammer}>
          Hammer
        </CallButton>
        <CallButton
          onClick={() =>
            reset({ room }).then(() => {
              say("plain", "refilled", "The bucket is full again.");
            })
          }
        >
          Refill
        </CallButton>
      </div>
      <Verdict count={count} limit={limit} say={say} call={call} />
      <StepChart
        past={past}
        now={limit.now}
        denials={entries.filter(({ verdict }) => verdict === "denied").map(({ at }) => at)}
        label="The tokens of the last half minute"
      />
      <Log entries={entries} lines={5} empty="No call yet." />
    </div>
  );
}

/** The number of tokens, and its cells. */
export function Level({ snapshot, value, capacity, noun }: LimitNow & { noun: string }) {
  const { rate = 0, period = 1000 } = snapshot?.config ?? {};
  const owed = Math.max(0, -(value ?? 0));
  const says =
    value === undefined
      ? "Loading…"
      : owed > 0
        ? `${noun}s owed to work that has reserved them`
        : `of ${amount(capacity, noun)}${nextIn(snapshot, value)}`;
  return (
    <div>
      <p className="flex h-14 items-baseline gap-2.5">
        <span
          className={`text-[2.6rem] leading-none sm:text-[3.4rem] font-bold tracking-[-0.03em] ${owed > 0 ? "text-later" : "text-go"}`}
          style={{ minWidth: widthOf(capacity) }}
        >
          {value === undefined ? "–" : tenths(value)}
        </span>
        <span className="text-[15px] leading-tight text-muted">{says}</span>
      </p>
      <Cells
        value={value}
        capacity={capacity}
        label={`${Math.floor(Math.max(0, value ?? 0))} of ${amount(capacity, noun)}`}
        className="mt-3 h-11"
      />
      <p aria-hidden="true" className="mt-1 flex justify-between text-[13px] text-muted">
        <span>empty</span>
        <span>
          {rate.toLocaleString("en")} {per(period)} flow in, {capacity.toLocaleString("en")} at most
        </span>
        <span>full</span>
      </p>
    </div>
  );
}

/** A number of tokens, rounded down: with 0.96 of a token a call is denied, so it must not read as 1.0. */
function tenths(value: number): string {
  return (Math.floor(value * 10) / 10).toFixed(1).replace("-", "−");
}

/** A width that fits any number that the bucket can hold, so that the text next to the number does not move. */
export function widthOf(capacity: number): string {
  return `${String(Math.ceil(capacity)).length + 2}ch`;
}

/** When the next whole token is available. Only a token bucket that is not full has this text. */
function nextIn(snapshot: RateLimitSnapshot | undefined, value: number): string {
  if (snapshot?.config.kind !== "token bucket" || value >= (snapshot.config.capacity ?? snapshot.config.rate))
    return "";
  const { rate, period } = snapshot.config;
  return ` · one more in ${wait(((Math.floor(value) + 1 - value) * period) / rate)}`;
}

type Call = (count: number, reserve: boolean) => Promise<void>;

function useCall(say: Say): Call {
  const send = useMutation(api.stage.burst.send);
  const now = useServerNow();
  return (count, reserve) =>
    send({ room, count, reserve }).then(
      (status) => {
        describe(say, count, status, now());
      },
      (error: unknown) => {
        say("stop", "refused", problem(error, now()));
      },
    );
}

function describe(say: Say, count: number, status: RateLimitStatus, now: number): void {
  const tokens = amount(count, "token");
  if (!status.ok && status.reason === "too large")
    say("stop", "denied", `${tokens} · more than the bucket can ever hold`);
  else if (!status.ok) {
    // A slow answer may arrive after the wait is over.
    const when = status.retryAt > now ? `in ${wait(status.retryAt - now)}` : "now";
    say("stop", "denied", `${tokens} · come back ${when}`);
  } else if (status.retryAt !== undefined) {
    say("later", "reserved", `${tokens} · runs in ${wait(status.retryAt - now)}, without asking again`);
  } else say("go", "sent", `${tokens} · ${status.remaining ?? "?"} left`);
}

function useHammer(strike: () => void): [isHammering: boolean, toggle: () => void] {
  const [isHammering, setHammering] = useState(false);
  useEffect(() => {
    if (!isHammering) return;
    const hammer = setInterval(strike, HAMMER_EVERY_MS);
    const end = setTimeout(() => {
      setHammering(false);
    }, HAMMER_FOR_MS);
    return () => {
      clearInterval(hammer);
      clearTimeout(end);
    };
    // One hammering makes the same call each time, so a new `strike` must not restart it.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isHammering]);
  return [
    isHammering,
    () => {
      setHammering(!isHammering);
    },
  ];
}

/**
 * Whether the same call would be allowed now, and if not, when. Two buttons test that: they ask the server what the stored bucket
 * answers in that millisecond, and in the one before.
 */
function Verdict({ count, limit, say, call }: { count: number; limit: LimitNow; say: Say; call: Call }) {
  const { snapshot, capacity } = limit;
  const convex = useConvex();
  const now = useServerNow();
  const isPossible = count >= 0 && count <= capacity;
  const asked = isPossible ? count : 0;
  const { status, check } = useRateLimit(api.stage.burst.bucket, {
    key: room,
    count: asked,
    getServerTime: api.stage.burst.getServerTime,
  });
  const answer = check();
  const denial = useRef<{ of: RateLimitSnapshot; retryAt: number }>(undefined);
  const [known, setKnown] = useState<number>();
  useEffect(() => {
    // The `retryAt` of the last denial stays true until somebody takes tokens.
    if (snapshot && status?.ok === false) denial.current = { of: snapshot, retryAt: status.retryAt };
    setKnown(denial.current?.of === snapshot ? denial.current?.retryAt : undefined);
  }, [snapshot, status]);

  const ask = (at: number) =>
    convex.query(api.stage.burst.answerAt, { room, count: asked, now: at }).then(
      (answer) => {
        const when = `at ${(at / 1000).toFixed(3).slice(-7)}`;
        if (answer.ok) say("go", "allowed", `${amount(asked, "token")}, asked ${when}: that very millisecond`);
        else say("stop", "denied", `${amount(asked, "token")}, asked ${when}: ${answer.retryAt - at} ms too early`);
      },
      (error: unknown) => {
        say("stop", "refused", problem(error, now()));
      },
    );

  return (
    <div className="flex min-h-22 flex-wrap items-center justify-between gap-x-3 gap-y-2 rounded-xl bg-well/70 px-3.5 py-2.5 sm:min-h-15">
      <p className="min-w-44 flex-1 text-sm" aria-label="Verdict">
        {!isPossible ? (
          <span className="text-stop">
            {amount(count, "token")} can never be taken from a bucket of {capacity}.
          </span>
        ) : answer?.ok === false ? (
          <>
            <span className="text-muted">{amount(count, "token")}: come back in </span>
            <span className="font-semibold text-stop">{wait(answer.retryAt - limit.now)}</span>
          </>
        ) : (
          <span className="font-semibold text-go">{answer ? `${amount(count, "token")}: go ahead` : "…"}</span>
        )}
      </p>
      <div className="flex flex-wrap gap-1.5">
        <CallButton
          isSmall
          look="primary"
          disabled={!status?.ok || !isPossible}
          onClick={() => call(count, false)}
          label="Send when allowed"
        >
          Send
        </CallButton>
        <CallButton isSmall disabled={known === undefined} onClick={() => known !== undefined && ask(known - 1)}>
          One ms before?
        </CallButton>
        <CallButton isSmall disabled={known === undefined} onClick={() => known !== undefined && ask(known)}>
          At that ms?
        </CallButton>
      </div>
    </div>
  );
}
