import type { RateLimitStatus } from "convex-rate-limits";
import { useServerNow } from "convex-rate-limits/react";
import { useMutation } from "convex/react";
import { useEffect, useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { Answer, CallButton, type Tone } from "../controls.js";
import { room } from "../room.js";
import { problem, wait } from "../words.js";

/** Twenty calls a second, for five seconds at most: enough to empty any bucket that fits the form. */
const HAMMER_EVERY_MS = 50;
const HAMMER_FOR_MS = 5000;

export function Calls() {
  const send = useMutation(api.playground.send);
  const refill = useMutation(api.playground.refill);
  const now = useServerNow();
  const [answer, setAnswer] = useState<{ tone: Tone; text: string }>({ tone: "plain", text: "No call yet." });
  const [isHammering, setHammering] = useState(false);

  const call = (count: number, reserve: boolean) => {
    send({ room, count, reserve }).then(
      (status) => {
        setAnswer(describe(count, status, now()));
      },
      (error: unknown) => {
        setHammering(false);
        setAnswer({ tone: "stop", text: problem(error, now()) });
      },
    );
  };

  useEffect(() => {
    if (!isHammering) return;
    const hammer = setInterval(() => {
      call(1, false);
    }, HAMMER_EVERY_MS);
    const end = setTimeout(() => {
      setHammering(false);
    }, HAMMER_FOR_MS);
    return () => {
      clearInterval(hammer);
      clearTimeout(end);
    };
    // The calls of one hammering all go the same way.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [isHammering]);

  return (
    <div>
      <div className="mb-3 flex flex-wrap gap-2">
        <CallButton
          look="primary"
          onClick={() => {
            call(1, false);
          }}
        >
          Send 1
        </CallButton>
        <CallButton
          onClick={() => {
            call(5, false);
          }}
        >
          Send 5
        </CallButton>
        <CallButton
          look="later"
          onClick={() => {
            call(5, true);
          }}
        >
          Reserve 5
        </CallButton>
        <CallButton
          look="stop"
          isPressed={isHammering}
          onClick={() => {
            setHammering(!isHammering);
          }}
        >
          Hammer
        </CallButton>
        <CallButton
          onClick={() => {
            void refill({ room }).then(() => {
              setAnswer({ tone: "plain", text: "Reset: the bucket is full again." });
            });
          }}
        >
          Reset
        </CallButton>
      </div>
      <Answer tone={answer.tone}>{answer.text}</Answer>
    </div>
  );
}

function describe(count: number, status: RateLimitStatus, now: number): { tone: Tone; text: string } {
  const tokens = `${count} token${count === 1 ? "" : "s"}`;
  if (!status.ok) {
    return { tone: "stop", text: `${tokens}: denied. The same call succeeds in ${wait(status.retryAt - now)}.` };
  }
  if (status.retryAt !== undefined) {
    return { tone: "later", text: `${tokens}: reserved. The work may run in ${wait(status.retryAt - now)}.` };
  }
  return { tone: "go", text: `${tokens}: admitted. ${status.remaining} left.` };
}
