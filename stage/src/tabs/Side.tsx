import { projectRateLimit } from "convex-rate-limits/client";
import { api } from "../../convex/_generated/api.js";
import { Cells } from "../stage/Cells.js";
import { useLimit } from "../stage/useLimit.js";
import { amount, wait } from "../words.js";

/** One of the two buckets of the tab "It rolls back", with its messages. */
export function Side({
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
