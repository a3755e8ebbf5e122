import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { useState } from "react";
import { api } from "../convex/_generated/api.js";
import { Answer, CallButton, type Tone } from "./controls.js";
import { Panel } from "./Panel.js";
import { room } from "./room.js";
import { useMoment } from "./useMoment.js";
import { problem, wait } from "./words.js";

type Job = FunctionReturnType<typeof api.playground.jobs>[number];

/** The time line: some of the past, and as much of the future as the queue can hold. */
const PAST_MS = 6_000;
const FUTURE_MS = 22_000;
const SHOWN = 7;
const SIZES = [100, 400, 1000];

export function QueuePanel({ className }: { className?: string }) {
  return (
    <Panel
      number={4}
      title="A queue for a language model"
      explanation="The model takes 200 tokens a second. A job reserves its tokens when it is asked and is promised the exact moment at which it runs; nobody polls, and nobody is overtaken. Cancelling gives the tokens back: the next job is promised an earlier moment."
      {...(className && { className })}
    >
      <Queue />
    </Panel>
  );
}

function Queue() {
  const jobs = useQuery(api.playground.jobs, { room });
  const ask = useMutation(api.playground.ask);
  const cancel = useMutation(api.playground.cancel);
  const now = useServerNow();
  const [answer, setAnswer] = useState<{ tone: Tone; text: string }>();
  const fail = (error: unknown) => {
    setAnswer({ tone: "stop", text: problem(error, now()) });
  };

  return (
    <div className="flex flex-col gap-4">
      <div>
        <div className="mb-3 flex flex-wrap gap-2">
          {SIZES.map((tokens) => (
            <CallButton
              key={tokens}
              look={tokens === 400 ? "primary" : "plain"}
              label={`Ask for ${number(tokens)} tokens`}
              onClick={() => {
                ask({ room, tokens }).then((result) => {
                  setAnswer(
                    result.ok
                      ? !result.waits
                        ? { tone: "go", text: `${tokens} tokens: there are enough, it runs now.` }
                        : { tone: "later", text: `${tokens} tokens: promised to run in ${wait(result.runAt - now())}.` }
                      : {
                          tone: "stop",
                          text: `The queue is full. Room for this job in ${wait(result.retryAt - now())}.`,
                        },
                  );
                }, fail);
              }}
            >
              {number(tokens)} tokens
            </CallButton>
          ))}
        </div>
        <Answer tone={answer?.tone ?? "plain"}>{answer?.text ?? "Ask a few times: the queue fills."}</Answer>
      </div>
      <TimeLine
        jobs={jobs}
        onCancel={(job) => {
          cancel({ job: job._id }).then((isCancelled) => {
            setAnswer(
              isCancelled
                ? { tone: "go", text: `Job ${job.number} is cancelled and its ${job.tokens} tokens are given back.` }
                : { tone: "plain", text: `Too late: job ${job.number} has already begun.` },
            );
          }, fail);
        }}
      />
    </div>
  );
}

function TimeLine({ jobs, onCancel }: { jobs: Job[] | undefined; onCancel: (job: Job) => void }) {
  const now = useMoment(50);
  const shown = jobs?.slice(-SHOWN) ?? [];
  const isEmpty = jobs?.length === 0;
  return (
    <div>
      <div aria-hidden="true" className="mb-1 flex h-4 text-xs text-muted">
        <span className="w-24 shrink-0 sm:w-32" />
        <span className="relative flex-1">
          <span className="absolute left-0 hidden sm:inline">−{PAST_MS / 1000} s</span>
          <span className="absolute -translate-x-1/2 font-medium text-ink" style={{ left: at(0) }}>
            now
          </span>
          <span className="absolute hidden -translate-x-1/2 sm:inline" style={{ left: at(10_000) }}>
            +10 s
          </span>
          <span className="absolute right-0">+{FUTURE_MS / 1000} s</span>
        </span>
        <span className="w-20 shrink-0" />
      </div>
      <div className="relative border-t border-line" style={{ height: `${SHOWN * 2.75}rem` }}>
        {jobs === undefined && (
          <div className="flex h-full flex-col justify-around py-1" aria-busy="true">
            {Array.from({ length: SHOWN }, (_, index) => (
              <div key={index} className="skeleton h-8" />
            ))}
          </div>
        )}
        {isEmpty && (
          <p className="absolute inset-0 grid place-items-center text-sm text-muted">No jobs yet. Ask for one.</p>
        )}
        <div aria-hidden="true" className="absolute inset-y-0 right-20 left-24 sm:left-32">
          <div className="absolute inset-y-0 w-px bg-muted" style={{ left: at(0) }} />
          <div className="absolute inset-y-0 hidden w-px bg-line sm:block" style={{ left: at(10_000) }} />
        </div>
        <ol className="relative">
          {shown.map((job) => (
            <Row key={job._id} job={job} now={now} onCancel={onCancel} />
          ))}
        </ol>
      </div>
    </div>
  );
}

function Row({ job, now, onCancel }: { job: Job; now: number; onCancel: (job: Job) => void }) {
  const { tokens, status, askedAt, promisedAt, startedAt, endedAt } = job;
  const isQueued = status === "queued";
  return (
    <li className="flex h-11 items-center border-b border-line">
      <p className="w-24 shrink-0 text-sm leading-tight sm:w-32">
        <span className="font-medium">Job {job.number}</span>
        <span className="block text-xs text-muted sm:ml-2 sm:inline">{number(tokens)} tokens</span>
      </p>
      <div aria-hidden="true" className="relative h-full flex-1 overflow-hidden">
        {/* What happens to the job stays where it is; time moves it past. */}
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
              className="h-5 min-w-1.5 rounded-sm bg-go"
            />
          )}
        </div>
      </div>
      <div className="flex h-full w-20 shrink-0 items-center justify-end text-right text-xs">
        {isQueued ? (
          <span className="flex items-center gap-1.5 text-later">
            {wait(promisedAt - now)}
            <button
              type="button"
              onClick={() => {
                onCancel(job);
              }}
              aria-label={`Cancel job ${job.number}`}
              className="grid size-8 place-items-center rounded-md border border-line text-base text-muted hover:border-stop hover:text-stop"
            >
              <span aria-hidden="true">×</span>
            </button>
          </span>
        ) : (
          <span key={status} className={status === "running" ? "font-medium text-go" : "text-muted"}>
            {status === "done" ? lateness(promisedAt, startedAt) : status}
          </span>
        )}
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

/** Where a moment lies on the line; `ms` from now. */
function at(ms: number): string {
  return `${((ms + PAST_MS) / (PAST_MS + FUTURE_MS)) * 100}%`;
}

function number(tokens: number): string {
  return tokens.toLocaleString("en");
}

/** How long after its promise a job began. */
function lateness(promisedAt: number, startedAt = promisedAt): string {
  return `ran +${Math.max(0, Math.round(startedAt - promisedAt))} ms`;
}
