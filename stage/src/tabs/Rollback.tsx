import { projectRateLimit } from "convex-rate-limits/client";
import { useServerNow } from "convex-rate-limits/react";
import { useAction, useMutation, useQuery } from "convex/react";
import { ConvexError } from "convex/values";
import { useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Cells } from "../stage/Cells.js";
import { Log, useLog } from "../stage/Log.js";
import { useLimit } from "../stage/useLimit.js";
import { amount, problem, wait } from "../words.js";

const MANY = 60;

type Ending = "sent" | "threw" | "denied";

/** The calls by their endings, with the tokens taken and the messages written. */
interface Tally {
  calls: number;
  sent: number;
  threw: number;
  denied: number;
  /** The tokens and the messages of committed transactions. */
  taken: { outside: number; inside: number };
  written: { outside: number; inside: number };
}

const NOTHING: Tally = {
  calls: 0,
  sent: 0,
  threw: 0,
  denied: 0,
  taken: { outside: 0, inside: 0 },
  written: { outside: 0, inside: 0 },
};

interface Rows {
  read: number;
  written: number;
}

export function Rollback() {
  const send = useMutation(api.stage.rollback.send);
  const sendOutside = useAction(api.stage.rollback.sendOutside);
  const delivered = useQuery(api.stage.rollback.delivered, { room });
  const now = useServerNow();
  const { entries, say } = useLog();
  const [tally, setTally] = useState(NOTHING);
  const [last, setLast] = useState<Rows & { ending: Ending }>();

  const callInside = async (fails: boolean): Promise<Ending> => {
    try {
      const { sent, ...rows } = await send({ room, fails });
      const ending = sent ? "sent" : "denied";
      setLast({ ...rows, ending });
      return ending;
    } catch (error) {
      setLast({ ...rowsIn(error), ending: "threw" });
      return "threw";
    }
  };
  const callOutside = async (fails: boolean): Promise<Ending> => {
    try {
      return (await sendOutside({ room, fails })) ? "sent" : "denied";
    } catch (error) {
      if (!(error instanceof ConvexError)) throw error;
      return "threw";
    }
  };
  const call = async (fails: boolean) => {
    const [outside, inside] = await Promise.all([callOutside(fails), callInside(fails)]);
    setTally((before) => ({
      ...before,
      calls: before.calls + 1,
      [inside]: before[inside] + 1,
      taken: {
        // The action's take has committed before the work throws.
        outside: before.taken.outside + Number(outside !== "denied"),
        inside: before.taken.inside + Number(inside === "sent"),
      },
      written: {
        outside: before.written.outside + Number(outside === "sent"),
        inside: before.written.inside + Number(inside === "sent"),
      },
    }));
    return { outside, inside };
  };
  const press = (calls: number, fails: boolean) =>
    Promise.all(Array.from({ length: calls }, () => call(fails))).then(
      (endings) => {
        for (const side of ["outside", "inside"] as const) {
          const [ending = "denied"] = endings.map((one) => one[side]);
          const name = side === "inside" ? "here" : "outside";
          if (calls === 1) say(ending === "sent" ? "go" : "stop", ending, `${name}: ${FATES[side][ending]}`);
          else {
            const sent = endings.filter((one) => one[side] === "sent").length;
            say("plain", `${calls} calls`, `${name}: ${sent} sent, ${calls - sent} denied`);
          }
        }
      },
      (error: unknown) => {
        say("stop", "failed", problem(error, now()));
      },
    );
  const throwing = [900, () => press(1, true)] as const;
  useAutoplay([
    [0, () => press(1, false)],
    throwing,
    throwing,
    throwing,
    throwing,
    throwing,
    [4000, () => press(MANY, false)],
    [8000, () => undefined],
  ]);

  const lost = (side: "outside" | "inside") => tally.taken[side] - tally.written[side];
  return (
    <div className="flex flex-col gap-4">
      <Lead tryThis="press “Send, then throw” five times, and see which of the two loses its tokens.">
        A limiter outside of the transaction keeps the token if the work throws; here the throw gives it back.
      </Lead>
      <div className="flex flex-wrap gap-2">
        <CallButton look="primary" onClick={() => press(1, false)}>
          Send
        </CallButton>
        <CallButton look="stop" onClick={() => press(1, true)}>
          Send, then throw
        </CallButton>
        <CallButton onClick={() => press(MANY, false)}>{MANY} at once</CallButton>
      </div>
      <Side
        name="A limiter outside"
        says="an action takes the token, then a mutation writes"
        bucket={`${room} outside`}
        messages={delivered?.filter((to) => to === "outside").length}
      />
      <Side
        name="In the mutation"
        says="the token is part of the write"
        bucket={room}
        messages={delivered?.filter((to) => to === "inside").length}
        flies={last?.ending === "threw" ? tally.threw : 0}
      />
      <div className="rounded-xl bg-well/70 px-4 py-3">
        <p className="text-sm text-muted">Tokens lost to work that never happened</p>
        <div role="group" aria-label="Lost tokens" className="mt-1 flex items-baseline gap-8">
          <Figure label="outside" value={lost("outside")} isBad={lost("outside") > 0} />
          <Figure label="here" value={lost("inside")} isBad={lost("inside") > 0} />
        </div>
        <p className="mt-2 text-sm text-muted" aria-label="Calls">
          {amount(tally.calls, "call")}: {tally.sent} sent, {tally.threw} threw, {tally.denied} denied.
        </p>
        <p className="min-h-5 text-sm text-muted" aria-label="Rows">
          {last &&
            `The last mutation here, as Convex counts: ${amount(last.read, "row")} read, ${last.written} written${last.ending === "threw" ? ", all undone" : ""}.`}
        </p>
      </div>
      <Log entries={entries} lines={5} empty="No call yet." />
    </div>
  );
}

const FATES = {
  outside: { sent: "token and message", threw: "token gone, no message", denied: "nothing taken" },
  inside: { sent: "token and message", threw: "token and message undone", denied: "nothing taken" },
};

/** One of the two buckets, with its messages. */
function Side({
  name,
  says,
  bucket,
  messages,
  flies = 0,
}: {
  name: string;
  says: string;
  bucket: string;
  messages: number | undefined;
  /** The number of throws. At each throw, the last token flies out and back. */
  flies?: number;
}) {
  const { snapshot, now, value, capacity } = useLimit(api.stage.rollback.bucket, bucket);
  const whole = Math.floor(Math.max(0, value ?? 0));
  const next = snapshot && projectRateLimit(snapshot, { now, count: 1 });
  return (
    <div role="group" aria-label={name}>
      <p className="flex items-baseline justify-between gap-3 text-sm">
        <span>
          <span className="font-semibold">{name}</span> <span className="block text-muted sm:inline">{says}</span>
        </span>
        <span
          // A new element when the number arrives: a text that grows in place would shift the layout.
          key={String(next === undefined)}
          className={`font-semibold whitespace-nowrap ${next?.ok === false ? "text-stop" : "text-go"}`}
        >
          {next === undefined ? "…" : next.ok ? `${whole} left` : `again in ${wait(next.retryAt - now)}`}
        </span>
      </p>
      <Cells
        key={flies}
        value={value}
        capacity={capacity}
        label={`${name}: ${whole} of ${amount(capacity, "token")}`}
        className="mt-1.5 h-11"
        cellClass={(cell) => (flies > 0 && cell === whole - 1 ? "flies-back" : "")}
      />
      <p className="mt-1 text-[13px] text-muted">
        {messages === undefined ? "…" : `${amount(messages, "message")} written`}
      </p>
    </div>
  );
}

function Figure({ label, value, isBad }: { label: string; value: number; isBad: boolean }) {
  return (
    <p className={isBad ? "text-stop" : "text-go"}>
      <span className="mr-2 text-sm text-muted">{label}</span>
      <span className="text-[2.4rem] leading-none font-bold tracking-[-0.03em]">{value}</span>
    </p>
  );
}

/** The rows that the mutation had read and written before it threw. */
function rowsIn(error: unknown): Rows {
  const data: unknown = error instanceof ConvexError ? error.data : undefined;
  if (typeof data === "object" && data !== null && "read" in data && "written" in data) return data as Rows;
  throw error;
}
