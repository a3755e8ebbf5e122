import { projectRateLimit, type RateLimitSnapshot } from "convex-rate-limits";
import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import { useState } from "react";
import { api } from "../convex/_generated/api.js";
import { Answer, CallButton, Choice, Figure } from "./controls.js";
import { slicesAt } from "./slices.js";
import { Panel } from "./Panel.js";
import { room } from "./room.js";
import { useMoment } from "./useMoment.js";
import { problem } from "./words.js";

const SHARDS = [1, 4, 8, 16, 64].map((value) => ({ value, label: String(value) }));
const CALLS = 100;

export function HotPanel() {
  return (
    <Panel
      number={5}
      title="A hot limit, on many rows"
      explanation="Callers who write the same row at the same time conflict. A hot limit is spread over rows: a call draws one at random, reads it and writes it. Change their number while calls come in: rows split and fold as they are touched, and no token is made or lost."
    >
      <Hot />
    </Panel>
  );
}

function Hot() {
  const snapshot = useQuery(api.playground.hot, { key: room });
  const hit = useMutation(api.playground.hit);
  const setShards = useMutation(api.playground.setShards);
  const now = useServerNow();
  const [sent, setSent] = useState({ calls: 0, admitted: 0 });
  const [failure, setFailure] = useState("");
  const shards = snapshot?.config.shards;
  const fail = (error: unknown) => {
    setFailure(problem(error, now()));
  };

  const fire = () => {
    setFailure("");
    const calls = Array.from({ length: CALLS }, () => hit({ room }));
    Promise.all(calls).then((answers) => {
      const admitted = answers.filter(Boolean).length;
      setSent((before) => ({ calls: before.calls + CALLS, admitted: before.admitted + admitted }));
    }, fail);
  };

  return (
    <div className="flex flex-1 flex-col gap-4">
      <div className="flex flex-wrap items-end gap-3">
        <div className="min-w-0 flex-1 basis-60">
          <Choice
            legend="Shards"
            options={SHARDS}
            value={typeof shards === "number" ? shards : undefined}
            onChange={(value) => {
              setShards({ room, shards: value }).catch(fail);
            }}
          />
        </div>
        <CallButton look="primary" onClick={fire}>
          {CALLS} calls
        </CallButton>
      </div>
      <Answer tone={failure ? "stop" : "plain"}>
        {failure || (sent.calls === 0 ? "No calls yet." : describe(sent))}
      </Answer>
      <Rows snapshot={snapshot} />
    </div>
  );
}

function describe({ calls, admitted }: { calls: number; admitted: number }): string {
  return `${calls} calls: ${admitted} admitted, ${calls - admitted} denied.`;
}

function Rows({ snapshot }: { snapshot: RateLimitSnapshot | undefined }) {
  const now = useMoment(100);
  if (!snapshot) return <div className="skeleton h-56" aria-busy="true" />;
  const slices = slicesAt(snapshot, now);
  const { remaining } = projectRateLimit(snapshot, { now, count: 0 });
  const rows = slices.filter(({ hasRow }) => hasRow).length;
  const capacity = snapshot.config.capacity ?? snapshot.config.rate;
  return (
    <div className="h-56">
      <dl className="mb-3 grid grid-cols-3 gap-3">
        <Figure name="Tokens" tone="go">
          {remaining} <span className="text-sm font-normal text-muted">of {capacity}</span>
        </Figure>
        <Figure name="Rows">{rows}</Figure>
        <Figure name="Refill">
          {snapshot.config.rate} <span className="text-sm font-normal text-muted">a second</span>
        </Figure>
      </dl>
      <div
        role="img"
        aria-label={`${remaining} of ${capacity} tokens on ${rows} rows`}
        className="relative h-40 rounded-lg bg-well ring-1 ring-line ring-inset"
      >
        {slices.map(({ from, to, tokens, capacity: most, hasRow }) => (
          <div
            key={`${from} ${to}`}
            className="absolute inset-y-0 p-px"
            style={{ left: `${from * 100}%`, width: `${(to - from) * 100}%` }}
          >
            <div className="relative h-full overflow-hidden rounded-sm ring-1 ring-line ring-inset">
              <div
                className={`absolute inset-0 origin-bottom ${hasRow ? "bg-go" : "bg-go/20"}`}
                style={{ transform: `scaleY(${tokens / most})` }}
              />
              {!hasRow && (
                <span className="absolute inset-x-0 bottom-1.5 text-center text-xs text-muted">
                  {to - from > 0.2 ? "full, no row" : ""}
                </span>
              )}
            </div>
          </div>
        ))}
      </div>
    </div>
  );
}
