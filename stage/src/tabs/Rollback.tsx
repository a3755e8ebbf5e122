import { useServerNow } from "convex-rate-limits/react";
import { useAction, useMutation, useQuery } from "convex/react";
import { ConvexError } from "convex/values";
import { useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Log, useLog } from "../stage/Log.js";
import { amount, problem } from "../words.js";
import { Side } from "./Side.js";

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
          if (calls === 1) say(ending === "sent" ? "go" : "stop", ending, `${NAMES[side]}: ${FATES[side][ending]}`);
          else {
            const sent = endings.filter((one) => one[side] === "sent").length;
            say("plain", `${calls} calls`, `${NAMES[side]}: ${sent} sent, ${calls - sent} denied`);
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
        With a limiter outside the mutation, the token stays spent if the work throws; in the mutation, the throw gives
        it back.
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
      <div className="rounded-xl bg-well/70 px-4 py-2.5">
        <p className="text-sm text-muted">Tokens lost to work that never happened</p>
        <div role="group" aria-label="Lost tokens" className="flex items-baseline gap-8">
          <Figure label={NAMES.outside} value={lost("outside")} />
          <Figure label={NAMES.inside} value={lost("inside")} />
        </div>
      </div>
      <Side
        name={NAMES.outside}
        says="an action takes the token, then a mutation writes"
        bucket={`${room} outside`}
        messages={delivered?.filter((to) => to === "outside").length}
      />
      <Side
        name={NAMES.inside}
        says="the token is part of the write"
        bucket={room}
        messages={delivered?.filter((to) => to === "inside").length}
        flies={last?.ending === "threw" ? tally.threw : 0}
      />
      <div>
        <p className="text-sm text-muted" aria-label="Calls">
          {amount(tally.calls, "call")}: {tally.sent} sent, {tally.threw} threw, {tally.denied} denied.
        </p>
        <p className="min-h-5 text-sm text-muted" aria-label="Rows">
          {last &&
            `The last call in the mutation, as Convex counts: ${amount(last.read, "row")} read, ${last.written} written${last.ending === "threw" ? ", all undone" : ""}.`}
        </p>
      </div>
      <Log entries={entries} lines={5} empty="No call yet." />
    </div>
  );
}

const NAMES = { outside: "Outside", inside: "In the mutation" };

const FATES = {
  outside: { sent: "token spent", threw: "token spent, no message", denied: "nothing spent" },
  inside: { sent: "token spent", threw: "nothing spent", denied: "nothing spent" },
};

function Figure({ label, value }: { label: string; value: number }) {
  return (
    <p className={value > 0 ? "text-stop" : "text-go"}>
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
