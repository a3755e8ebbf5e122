import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import { ConvexError } from "convex/values";
import { useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Cells } from "../stage/Cells.js";
import { Log, useLog } from "../stage/Log.js";
import { useLimit } from "../stage/useLimit.js";
import { amount, problem } from "../words.js";

const FRIENDS = ["Ben", "Cleo", "Dan"];

/** How far the last broadcast came before it threw. */
interface Thrown {
  number: number;
  taken: number;
  from: number;
}

export function Rollback() {
  const { value, capacity } = useLimit(api.stage.rollback.bucket, room);
  const delivered = useQuery(api.stage.rollback.delivered, { room })?.filter((to) => FRIENDS.includes(to));
  const broadcast = useMutation(api.stage.rollback.broadcast);
  const now = useServerNow();
  const { entries, say } = useLog();
  const [thrown, setThrown] = useState<Thrown>();
  const [gone, setGone] = useState<readonly string[]>(["Dan"]);
  const whole = Math.floor(Math.max(0, value ?? 0));

  const send = (gone: readonly string[]) => {
    broadcast({ room, to: FRIENDS, gone: [...gone] }).then(
      (sent) => {
        setThrown(undefined);
        say("go", "sent", `${amount(sent, "message")}, ${amount(sent, "token")} taken`);
      },
      (error: unknown) => {
        const data: unknown = error instanceof ConvexError ? error.data : undefined;
        if (typeof data !== "object" || data === null || !("user" in data)) {
          say("stop", "thrown", `${problem(error, now())} Every token and message is back.`);
          return;
        }
        const taken = FRIENDS.indexOf(String(data.user)) + 1;
        setThrown((before) => ({ number: (before?.number ?? 0) + 1, taken, from: whole }));
        say(
          "stop",
          "thrown",
          `${String(data.user)} has left: ${amount(taken, "token")} and ${amount(taken - 1, "message")} are back`,
        );
      },
    );
  };
  useAutoplay([
    [
      0,
      () => {
        send(["Dan"]);
      },
    ],
    [
      2500,
      () => {
        send([]);
      },
    ],
    [
      2500,
      () => {
        send(["Cleo"]);
      },
    ],
    [5000, () => undefined],
  ]);

  return (
    <div className="flex flex-col gap-4">
      <Lead>
        A broadcast takes a token for each message and then finds that somebody has left. It throws, and what it has
        done is undone: the messages, and the tokens with them.
      </Lead>
      <p className="flex h-14 items-baseline gap-2.5">
        <span
          className="text-[3.4rem] leading-none font-bold tracking-[-0.03em] text-go"
          style={{ minWidth: `${String(capacity).length}ch` }}
        >
          {value === undefined ? "–" : whole}
        </span>
        <span className="text-[15px] text-muted">
          of {amount(capacity, "token")} · {delivered === undefined ? "…" : amount(delivered.length, "message")}{" "}
          delivered
        </span>
      </p>
      <Cells
        key={thrown?.number ?? 0}
        value={value}
        capacity={capacity}
        label={`${whole} of ${amount(capacity, "token")}`}
        cellClass={(cell) => (thrown && cell < thrown.from && cell >= thrown.from - thrown.taken ? "flies-back" : "")}
      />
      <fieldset className="flex flex-wrap items-center gap-2">
        <legend className="mb-2 text-sm text-muted">To three friends. Who has left?</legend>
        {FRIENDS.map((friend) => (
          <label
            key={friend}
            className="flex h-10 items-center gap-2 rounded-lg border border-line px-3 text-sm has-checked:border-stop has-checked:text-stop"
          >
            <input
              type="checkbox"
              className="accent-[var(--stop)]"
              checked={gone.includes(friend)}
              onChange={() => {
                setGone(gone.includes(friend) ? gone.filter((one) => one !== friend) : [...gone, friend]);
              }}
            />
            {friend}
          </label>
        ))}
      </fieldset>
      <div className="flex gap-2">
        <CallButton
          look="primary"
          onClick={() => {
            send(gone);
          }}
        >
          Broadcast
        </CallButton>
      </div>
      <Log entries={entries} lines={7} empty="Send it: Dan has left." />
    </div>
  );
}
