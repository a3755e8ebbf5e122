import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { api } from "../../convex/_generated/api.js";
import { CallButton } from "../controls.js";
import { useServerTime } from "../useServerTime.js";
import { amount, wait } from "../words.js";

export type Task = FunctionReturnType<typeof api.stage.queue.tasks>[number];

/** The latest jobs, each with its place in the queue. */
export function Places({ tasks, onCancel }: { tasks: Task[] | undefined; onCancel: (task: Task) => unknown }) {
  const now = useServerTime(200);
  return (
    <div className="h-80 border-t border-line">
      {tasks === undefined && <div className="skeleton h-full" aria-busy="true" />}
      {tasks?.length === 0 && <p className="py-3 text-sm text-muted">Nothing waits yet.</p>}
      <ol aria-label="The latest jobs">
        {tasks?.map((task) => (
          <Place key={task._id} task={task} now={now} onCancel={onCancel} />
        ))}
      </ol>
    </div>
  );
}

function Place({ task, now, onCancel }: { task: Task; now: number; onCancel: (task: Task) => unknown }) {
  const { _id, number, tokens, startedAt, isCancelled, denied = 0 } = task;
  const again = denied > 0 ? `, run ${denied + 1}` : "";
  const place = useQuery(api.stage.queue.getQueued, isWaiting(task) ? { job: _id } : "skip");
  return (
    <li className="flex h-13 items-center gap-3 border-b border-line text-sm">
      <p className="w-20 shrink-0">
        <span className="block font-medium">Job {number}</span>
        <span className="block text-xs text-muted">{amount(tokens, "token")}</span>
      </p>
      <div className="min-w-0 flex-1">
        {isCancelled ? (
          <p className="text-muted">cancelled</p>
        ) : startedAt !== undefined ? (
          <p className="text-go">answered{again}</p>
        ) : place === undefined ? (
          <p className="text-muted">…</p>
        ) : place === null ? (
          <p className="text-go">starts within a second</p>
        ) : (
          <>
            <p className="leading-tight">
              {placeOf(place)}
              {denied > 0 && <span className="text-stop"> · got 429, runs again</span>}
            </p>
            <p className="text-xs text-later">
              {place.startsAt === undefined ? "later" : `in about ${wait(place.startsAt - now)}`}
            </p>
          </>
        )}
      </div>
      {place && isWaiting(task) && (
        <CallButton isSmall label={`Cancel job ${number}`} onClick={() => onCancel(task)}>
          Cancel
        </CallButton>
      )}
    </li>
  );
}

export function isWaiting({ startedAt, isCancelled }: Task): boolean {
  return startedAt === undefined && !isCancelled;
}

function placeOf({ ahead, startsAt }: { ahead?: number | undefined; startsAt?: number | undefined }): string {
  if (ahead === undefined) return "has its start time";
  if (startsAt === undefined) return `${ahead} or more go first`;
  return ahead === 0 ? "the next one" : `${ahead} ${ahead === 1 ? "goes" : "go"} first`;
}
