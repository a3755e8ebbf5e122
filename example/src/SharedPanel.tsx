import { isRateLimitError } from "convex-rate-limits";
import { useCountdown, useRateLimit, useServerNow } from "convex-rate-limits/react";
import { ConvexProvider, useMutation } from "convex/react";
import { useState } from "react";
import { api } from "../convex/_generated/api.js";
import { connect } from "./backend.js";
import { Answer, CallButton, type Tone } from "./controls.js";
import { Panel } from "./Panel.js";
import { room } from "./room.js";
import { problem, wait } from "./words.js";

/** Connections of their own, as two browser windows would have. */
const windows = [
  { name: "Ann", client: connect() },
  { name: "Ben", client: connect() },
];

export function SharedPanel() {
  return (
    <Panel
      number={3}
      title="Two windows, one limit"
      explanation="Ann and Ben share a bucket of five tokens, each over a connection of their own. What one takes the other sees at once; each wait ends in both windows at the server's moment, without asking it again."
    >
      <div className="grid gap-3 sm:grid-cols-2">
        {windows.map(({ name, client }) => (
          <ConvexProvider key={name} client={client}>
            <Window name={name} />
          </ConvexProvider>
        ))}
      </div>
      <p className="mt-auto pt-4 text-sm text-muted">
        Or{" "}
        <a
          href={`?room=${room}`}
          target="_blank"
          rel="noreferrer"
          className="rounded text-ink underline decoration-line underline-offset-4 hover:decoration-ink"
        >
          open this room in another window
        </a>
        : all five panels stay in step.
      </p>
    </Panel>
  );
}

function Window({ name }: { name: string }) {
  const { status, check } = useRateLimit(api.playground.shared, {
    key: room,
    getServerTime: api.playground.getServerTime,
  });
  const seconds = useCountdown(status?.ok === false ? status.retryAt : undefined);
  const post = useMutation(api.playground.post);
  const now = useServerNow();
  const [answer, setAnswer] = useState<{ tone: Tone; text: string }>();
  const left = check({ count: 0 })?.remaining;

  const send = () => {
    post({ room }).then(
      () => {
        setAnswer({ tone: "go", text: "Sent." });
      },
      (error: unknown) => {
        const retryAt = isRateLimitError(error) ? error.data.retryAt : undefined;
        setAnswer({
          tone: "stop",
          text:
            retryAt === undefined ? problem(error, now()) : `Thrown: RateLimited, retryAt in ${wait(retryAt - now())}.`,
        });
      },
    );
  };

  return (
    <div role="group" aria-label={`${name}'s window`} className="overflow-hidden rounded-lg border border-line">
      <p className="flex items-center gap-1.5 border-b border-line bg-well px-3 py-2 text-xs font-medium text-muted">
        <span aria-hidden="true" className="size-2 rounded-full bg-line" />
        <span aria-hidden="true" className="size-2 rounded-full bg-line" />
        <span className="ml-1">{name}'s window</span>
      </p>
      <div className="flex flex-col gap-3 p-3">
        <div className="flex items-center justify-between gap-3">
          <p
            className="flex h-9 items-center gap-1"
            role="img"
            aria-label={left === undefined ? "Loading" : `${left} of 5 left`}
          >
            {Array.from({ length: 5 }, (_, index) => (
              <span
                key={index}
                className={`size-4 rounded-full ${left === undefined ? "skeleton" : index < left ? "bg-go" : "ring-1 ring-line ring-inset"}`}
              />
            ))}
          </p>
          <p className="text-sm text-muted">
            {status === undefined ? "Loading…" : status.ok ? "Go ahead" : `Again in ${seconds ?? 0} s`}
          </p>
        </div>
        <div className="flex gap-2">
          <CallButton look="primary" disabled={!status?.ok} onClick={send} label={`Send as ${name}`}>
            Send
          </CallButton>
          <CallButton onClick={send} label={`Send anyway as ${name}`}>
            Send anyway
          </CallButton>
        </div>
        <Answer tone={answer?.tone ?? "plain"}>{answer?.text ?? "Nothing sent yet."}</Answer>
      </div>
    </div>
  );
}
