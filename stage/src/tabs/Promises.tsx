import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { api } from "../../convex/_generated/api.js";
import { Answer, CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { useAnswer } from "../stage/useAnswer.js";
import { useServerTime } from "../useServerTime.js";
import { amount, problem, wait } from "../words.js";

type Job = FunctionReturnType<typeof api.stage.promises.jobs>[number];

/** The span of the time line: 5 s of the past, and as much of the future as the queue can hold. */
const PAST_MS = 5_000;
const FUTURE_MS = 21_000;
const SHOWN = 7;

export function Promises({ count }: { count: number }) {
  const jobs = useQuery(api.stage.promises.jobs, { room });
  const ask = useMutation(api.stage.promises.ask);
  const cancel = useMutation(api.stage.promises.cancel);
  const now = useServerNow();
  const [answer, setAnswer] = useAnswer();
  const fail = (error: unknown) => {
    setAnswer({ tone: "stop", text: problem(error, now()) });
  };

  const askFor = (tokens: number) =>
    ask({ room, count: tokens }).then((result) => {
      setAnswer(
        !result.ok
          ? { tone: "stop", text: `The queue is full. Room for this job in ${wait(result.retryAt - now())}.` }
          : result.waits
            ? {
                tone: "later",
                text: `${amount(tokens, "token")}: promised to run in ${wait(result.runAt - now())}.`,
              }
            : { tone: "go", text: `${amount(tokens, "token")}: there are enough, it runs now.` },
      );
    }, fail);
  const cancelJob = (job: Job) =>
    cancel({ job: job._id }).then((isCancelled) => {
      setAnswer(
        isCancelled
          ? {
              tone: "go",
              text: `Job ${job.number} is cancelled and its ${amount(job.tokens, "token")} are given back.`,
            }
          : { tone: "plain", text: `Too late: job ${job.number} has already begun.` },
      );
    }, fail);
  useAutoplay([
    [0, () => askFor(count)],
    [700, () => askFor(count)],
    [700, () => askFor(100)],
    [700, () => askFor(1000)],
    [
      1500,
      () => {
        const last = jobs?.findLast(({ status }) => status === "queued");
        if (last) void cancelJob(last);
      },
    ],
    [900, () => askFor(100)],
    [6000, () => undefined],
  ]);

  const sizes = [...new Set([count, 100, 1000])];
  return (
    <div className="flex flex-col gap-3">
      <Lead tryThis="ask a few times, then cancel a job: its tokens go to the next one.">
        A job reserves its tokens and gets a start time, which never changes.
      </Lead>
      <div className="flex flex-wrap gap-2">
        {sizes.map((tokens) => (
          <CallButton
            key={tokens}
            look={tokens === count ? "primary" : "plain"}
            label={`Ask for ${amount(tokens, "token")}`}
            onClick={() => askFor(tokens)}
          >
            Ask for {tokens.toLocaleString("en")}
          </CallButton>
        ))}
      </div>
      <Answer tone={answer?.tone ?? "plain"}>{answer?.text}</Answer>
      <TimeLine jobs={jobs} onCancel={cancelJob} />
    </div>
  );
}

function TimeLine({ jobs, onCancel }: { jobs: Job[] | undefined; onCancel: (job: Job) => unknown }) {
  const now = useServerTime(50);
  const shown = jobs?.slice(-SHOWN) ?? [];
  return (
    <div>
      <div aria-hidden="true" className="relative mb-1 h-4 text-xs text-muted">
        <span className="absolute left-0">−{PAST_MS / 1000} s</span>
        <span className="absolute -translate-x-1/2 font-medium text-ink" style={{ left: at(0) }}>
          now
        </span>
        <span className="absolute -translate-x-1/2" style={{ left: at(10_000) }}>
          +10 s
        </span>
        <span className="absolute right-0">+{FUTURE_MS / 1000} s</span>
      </div>
      <div className="relative overflow-hidden border-t border-line" style={{ height: `${SHOWN * 3.5}rem` }}>
        {jobs === undefined && <div className="skeleton h-full" aria-busy="true" />}
        {jobs?.length === 0 && (
          <p className="absolute inset-0 grid place-items-center text-sm text-muted">No jobs yet. Ask for one.</p>
        )}
        <div aria-hidden="true" className="absolute inset-y-0 w-px bg-muted/60" style={{ left: at(0) }} />
        <ol className="relative">
          {shown.map((job) => (
            <Row key={job._id} job={job} now={now} onCancel={onCancel} />
          ))}
        </ol>
      </div>
    </div>
  );
}

function Row({ job, now, onCancel }: { job: Job; now: number; onCancel: (job: Job) => unknown }) {
  const { tokens, status, askedAt, promisedAt, startedAt, endedAt } = job;
  const isQueued = status === "queued";
  return (
    <li className="h-14 border-b border-line">
      <div className="flex h-8 items-center justify-between text-sm">
        {/* Its background is over the line of "now". */}
        <p className="bg-card pr-1">
          <span className="font-medium">Job {job.number}</span>{" "}
          <span className="text-xs text-muted">{amount(tokens, "token")}</span>
        </p>
        <div className="flex items-center text-xs">
          {isQueued ? (
            <span className="flex items-center gap-2 text-later">
              in {wait(promisedAt - now)}
              <CallButton isSmall label={`Cancel job ${job.number}`} onClick={() => onCancel(job)}>
                Cancel
              </CallButton>
            </span>
          ) : (
            <span key={status} className={status === "running" ? "font-medium text-go" : "text-muted"}>
              {status === "done" ? lateness(promisedAt, startedAt) : status}
            </span>
          )}
        </div>
      </div>
      <div aria-hidden="true" className="relative h-5 overflow-hidden">
        {/* The marks of a job keep their places on this strip, and the strip moves with time. */}
        <div
          className="absolute inset-0"
          style={{ transform: `translateX(${((askedAt - now) / (PAST_MS + FUTURE_MS)) * 100}%)` }}
        >
          <Span
            to={(startedAt ?? promisedAt) - askedAt}
            className={`h-0.5 ${status === "cancelled" ? "bg-line" : "bg-later/50"}`}
          />
          {isQueued && (
            <div
              className="absolute top-1/2 size-3.5 -translate-1/2 rounded-full bg-later ring-3 ring-card"
              style={{ left: at(promisedAt - askedAt) }}
            />
          )}
          {startedAt !== undefined && (
            <Span
              from={startedAt - askedAt}
              to={(endedAt ?? now) - askedAt}
              className="h-3.5 min-w-1.5 rounded-sm bg-go"
            />
          )}
        </div>
      </div>
    </li>
  );
}

function Span({ from = 0, to, className }: { from?: number; to: number; className: string }) {
  return (
    <div
      className={`absolute top-1/2 -translate-y-1/2 ${className}`}
      style={{ left: at(from), width: `${(Math.max(0, to - from) / (PAST_MS + FUTURE_MS)) * 100}%` }}
    />
  );
}

/** The place on the line of the time that is `ms` from now. */
function at(ms: number): string {
  return `${((ms + PAST_MS) / (PAST_MS + FUTURE_MS)) * 100}%`;
}

/** How long after its promise a job began. */
function lateness(promisedAt: number, startedAt = promisedAt): string {
  return `ran +${Math.max(0, Math.round(startedAt - promisedAt))} ms`;
}
