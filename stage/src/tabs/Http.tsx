import { useServerNow } from "convex-rate-limits/react";
import { useEffect, useRef, useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { fetchHttp, httpUrl, isStatic } from "../backend.js";
import { CallButton, Lead } from "../controls.js";
import { room } from "../room.js";
import { copy } from "../site.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Gauge } from "../stage/Gauge.js";
import { useLimit } from "../stage/useLimit.js";
import { useServerTime } from "../useServerTime.js";

const ADDRESS = `${httpUrl}/api/stage?room=${room}`;
const CURL = `curl -i '${ADDRESS}'`;
/** The headers that the terminal shows. A browser hides the others from pages of other sites; curl shows all of them. */
const SHOWN = [
  "ratelimit-policy",
  "ratelimit",
  "retry-after",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "content-type",
];

interface Answered {
  number: number;
  status: number;
  text: string;
  headers: [string, string][];
  body: string;
  /** The time at which the server allows a retry, on its clock. */
  backAt: number | undefined;
}

export function Http() {
  const limit = useLimit(api.stage.gate.bucket, room);
  const now = useServerNow();
  const [answers, setAnswers] = useState<readonly Answered[]>([]);
  const [failure, setFailure] = useState("");
  const sent = useRef(0);

  const request = async () => {
    const number = ++sent.current;
    try {
      const response = await fetchHttp(ADDRESS);
      const after = response.headers.get("retry-after");
      const answer: Answered = {
        number,
        status: response.status,
        text: response.status === 429 ? "Too Many Requests" : response.statusText,
        headers: SHOWN.flatMap((name) => {
          const value = response.headers.get(name);
          return value === null ? [] : [[name, value] as [string, string]];
        }),
        body: await response.text(),
        backAt: after === null ? undefined : now() + Number(after) * 1000,
      };
      setFailure("");
      setAnswers((before) => [answer, ...before].slice(0, 12));
    } catch (error) {
      setFailure(`The request did not arrive: ${String(error)}`);
    }
  };
  const once = [700, () => request()] as const;
  useAutoplay([once, once, once, once, once, once, once, [6000, () => undefined]]);

  const [latest, ...earlier] = answers;
  return (
    <div className="flex flex-col gap-3.5">
      <Lead
        tryThis={
          isStatic
            ? "press “Send 6”: the last one gets a 429."
            : "press “Send 6”, or run the line in a terminal: the cells move here."
        }
      >
        A limited endpoint: each response says how much is left, and a 429 says when to come back.
      </Lead>
      <Gauge limit={limit} noun="request" className="h-9" />
      <div className="flex flex-wrap items-center gap-2">
        <CallButton look="primary" onClick={() => request()}>
          Send a request
        </CallButton>
        <CallButton onClick={() => Promise.all(Array.from({ length: 6 }, request))}>Send 6</CallButton>
        <p className="text-sm text-muted">{latest && <Countdown backAt={latest.backAt} />}</p>
      </div>
      <div className="overflow-hidden rounded-xl bg-code text-code-ink">
        <div className="flex items-center gap-2 border-b border-[var(--code-line)] py-1.5 pr-1.5 pl-4">
          <code className="min-w-0 flex-1 truncate font-mono text-xs" aria-label="The request as a curl line">
            {CURL}
          </code>
          {!isStatic && <CopyButton text={CURL} />}
        </div>
        <div
          className="h-72 overflow-auto px-4 py-3 font-mono text-xs leading-relaxed"
          tabIndex={0}
          role="region"
          aria-label="Terminal"
        >
          {failure && <p className="text-[#ffb4a6]">{failure}</p>}
          {!latest && !failure && <p className="text-code-muted">No request yet.</p>}
          <div role="status">{latest && <Response {...latest} />}</div>
          {earlier.map((answer) => (
            <Response key={answer.number} {...answer} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Response({ status, text, headers, body }: Answered) {
  return (
    <div className="mb-3">
      <p className={status === 200 ? "text-[var(--code-string)]" : "text-[#ffb4a6]"}>
        HTTP/1.1 {status} {text}
      </p>
      {headers.map(([name, value]) => (
        <p key={name} className="break-words">
          <span className="text-[var(--code-keyword)]">{name}:</span> {value}
        </p>
      ))}
      <p className="break-words text-code-muted">{body}</p>
    </div>
  );
}

function Countdown({ backAt }: { backAt: number | undefined }) {
  const now = useServerTime(100);
  if (backAt === undefined) return "No wait.";
  const left = Math.ceil((backAt - now) / 1000);
  return left > 0 ? (
    <>
      Retry-After: <span className="font-semibold text-stop">{left} s</span>
    </>
  ) : (
    <span className="font-semibold text-go">Now.</span>
  );
}

function CopyButton({ text }: { text: string }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const element = button.current;
    if (!element) return;
    const onClick = () => void copy(element, text);
    element.addEventListener("click", onClick);
    return () => {
      element.removeEventListener("click", onClick);
    };
  }, [text]);
  return (
    <button
      ref={button}
      type="button"
      aria-label="Copy the curl line"
      className="w-18 rounded-md border border-code-muted/50 py-1 text-xs hover:border-code-ink"
    >
      Copy
    </button>
  );
}
