import { HOUR, MINUTE, type RateLimitConfig } from "convex-rate-limits";
import type { RateLimitOverride } from "convex-rate-limits/admin";
import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Choice, Lead, type Tone } from "../controls.js";
import { room } from "../room.js";
import { Log, useLog } from "../stage/Log.js";
import { useServerTime } from "../useServerTime.js";
import { per, problem, wait } from "../words.js";

const LIMITS = [
  { value: "failedLogin", label: "Logins" },
  { value: "send", label: "Messages" },
  { value: "model", label: "Model" },
  { value: "calls", label: "Plans" },
] as const;

const FILTERS = [
  { value: "all", label: "All" },
  { value: "limited", label: "Limited now" },
  { value: "overridden", label: "Overridden" },
] as const;

/** How long an override lasts, in ms. 0 means until it is removed. */
const LENGTHS = [
  { value: 0, label: "Until removed" },
  { value: MINUTE, label: "A minute" },
  { value: HOUR, label: "An hour" },
] as const;

const RAISE = 10;
const MOST_NOTE = 500;
const MOST_KEY = 256;

type Entry = FunctionReturnType<typeof api.stage.admin.list>["page"][number];

export function Admin() {
  const [name, setName] = useState<(typeof LIMITS)[number]["value"]>("failedLogin");
  const [filter, setFilter] = useState<(typeof FILTERS)[number]["value"]>("all");
  const [cursor, setCursor] = useState<string>();
  const [key, setKey] = useState(room);
  const [note, setNote] = useState("");
  const [lengthMs, setLengthMs] = useState<(typeof LENGTHS)[number]["value"]>(0);
  const page = useQuery(api.stage.admin.list, {
    name,
    onlyLimited: filter === "limited",
    onlyOverridden: filter === "overridden",
    ...(cursor !== undefined && { cursor }),
  });
  const config = useQuery(api.stage.admin.config, key === "" ? "skip" : { name, key });
  const block = useMutation(api.stage.admin.block);
  const configure = useMutation(api.stage.admin.configure);
  const letThrough = useMutation(api.stage.admin.letThrough);
  const clear = useMutation(api.stage.admin.clear);
  const reset = useMutation(api.stage.admin.reset);
  const guess = useMutation(api.stage.login.logIn);
  const serverNow = useServerNow();
  const { entries, say } = useLog();
  const fail = (error: unknown) => {
    say("stop", "refused", problem(error, serverNow()));
  };
  const guessAtLogin = () =>
    guess({ room, password: "letmein" }).then((result) => {
      if (result.outcome === "wrong") say("plain", "allowed", `login: wrong, ${result.left} left`);
      else say("stop", "denied", `login: ${result.outcome}`);
    }, fail);
  const did = (call: Promise<null>, verdict: string, text: string, tone: Tone = "go") =>
    call.then(() => {
      say(tone, verdict, text);
    }, fail);
  const terms = () => ({
    ...(lengthMs > 0 && { until: Math.round(serverNow()) + lengthMs }),
    ...(note !== "" && { note }),
  });
  const bucket = { name, key };

  return (
    <div className="flex flex-col gap-3">
      <Lead tryThis="press “Try a login”, then “Block”, then “Try a login” again.">
        An override changes one key's limit immediately, without a deploy.
      </Lead>
      <div className="flex flex-wrap items-center gap-2">
        <Choice
          legend="Limit"
          options={LIMITS}
          value={name}
          onChange={(next) => {
            setName(next);
            setCursor(undefined);
          }}
        />
        <Choice
          legend="Keys"
          options={FILTERS}
          value={filter}
          onChange={(next) => {
            setFilter(next);
            setCursor(undefined);
          }}
        />
      </div>
      <Keys
        rows={page?.page}
        chosen={key}
        onChoose={setKey}
        config={config}
        hasOthers={cursor !== undefined || typeof page?.cursor === "string"}
        onNext={() => {
          setCursor(page?.cursor ?? undefined);
        }}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Field label="Key" most={MOST_KEY} value={key} onChange={setKey} />
        <Field label="Note" most={MOST_NOTE} value={note} onChange={setNote} placeholder="Note: why" />
        <Choice legend="For how long" options={LENGTHS} value={lengthMs} onChange={setLengthMs} />
      </div>
      <div className="grid grid-cols-2 gap-2 sm:flex sm:flex-wrap">
        <CallButton
          isSmall
          look="stop"
          disabled={key === ""}
          onClick={() => did(block({ ...bucket, ...terms() }), "blocked", key, "stop")}
        >
          Block
        </CallButton>
        <CallButton
          isSmall
          look="later"
          disabled={key === "" || !config}
          onClick={() =>
            config &&
            did(
              configure({ ...bucket, config: raise(config), ...terms() }),
              "raised",
              `${key}: ${limitOf(raise(config))}`,
            )
          }
        >
          Raise {RAISE}×
        </CallButton>
        <CallButton
          isSmall
          disabled={key === ""}
          onClick={() => did(letThrough({ ...bucket, ...terms() }), "unlimited", key)}
        >
          Let through
        </CallButton>
        <CallButton
          isSmall
          disabled={key === ""}
          onClick={() => did(clear(bucket), "removed", `the limit's own config applies to ${key}`)}
        >
          Remove override
        </CallButton>
        <CallButton
          isSmall
          disabled={key === ""}
          onClick={() => did(reset(bucket), "refilled", `${key} is full again`)}
        >
          Refill
        </CallButton>
        <CallButton isSmall look="primary" disabled={name !== "failedLogin" || key !== room} onClick={guessAtLogin}>
          Try a login
        </CallButton>
      </div>
      <Log entries={entries} lines={3} empty="Nothing done yet." />
    </div>
  );
}

function Keys({
  rows,
  chosen,
  onChoose,
  config,
  hasOthers,
  onNext,
}: {
  rows: readonly Entry[] | undefined;
  chosen: string;
  onChoose: (key: string) => void;
  config: RateLimitConfig | undefined;
  /** Whether there are keys on other pages. */
  hasOthers: boolean;
  onNext: () => void;
}) {
  const now = useServerTime(500);
  // The visitor's own room comes first. An admin sees only the keys of the others.
  const own = rows?.toSorted((a, b) => Number(b.key === room) - Number(a.key === room));
  return (
    <div>
      <div role="region" aria-label="Keys of the limit" tabIndex={0} className="h-60 overflow-y-auto">
        <table className="w-full table-fixed text-left text-sm">
          <thead className="text-xs text-muted">
            <tr>
              <th className="py-1.5 font-medium">Key</th>
              <th className="w-14 font-medium">Left</th>
              <th className="w-26 font-medium">Next</th>
            </tr>
          </thead>
          <tbody>
            {own?.map((entry) => (
              <Row key={entry.key} entry={entry} now={now} isChosen={entry.key === chosen} onChoose={onChoose} />
            ))}
          </tbody>
        </table>
        {own?.length === 0 && <p className="border-t border-line py-3 text-sm text-muted">No key is in the list.</p>}
        {own === undefined && <div className="skeleton h-40" aria-busy="true" />}
      </div>
      <div className="flex h-8 items-center justify-between border-t border-line text-xs text-muted">
        <p className="truncate">
          {config ? `${chosen}: ${limitOf(config)}` : chosen === "" ? "Choose or type a key." : "Loading…"}
        </p>
        {hasOthers && (
          <CallButton isSmall onClick={onNext}>
            Next keys
          </CallButton>
        )}
      </div>
    </div>
  );
}

function Row({
  entry: { key = "", value, ok, retryAt, error, override, plan },
  now,
  isChosen,
  onChoose,
}: {
  entry: Entry;
  now: number;
  isChosen: boolean;
  onChoose: (key: string) => void;
}) {
  // The list is as old as its last read, so waits and overrides that have ended since then are left out here.
  const waits = !ok && (retryAt ?? 0) > now;
  const held = override && (override.until ?? Infinity) > now ? override : undefined;
  return (
    <tr className={`h-13 border-t border-line ${isChosen ? "bg-well" : ""}`}>
      <td className="pr-2">
        <button
          type="button"
          aria-pressed={isChosen}
          className="block w-full truncate text-left font-mono text-[13px] underline decoration-muted/50 underline-offset-4 hover:decoration-ink"
          onClick={() => {
            onChoose(key);
          }}
        >
          {[key, ...(key === room ? ["(this room)"] : []), ...(plan ? ["·", plan] : [])].join(" ")}
        </button>
        {held && (
          <span
            className={`line-clamp-2 text-xs ${held.block ? "text-stop" : "text-later"}`}
            title={describeOverride(held, now)}
          >
            {describeOverride(held, now)}
          </span>
        )}
      </td>
      <td>{error === undefined ? Math.floor(value) : "damaged"}</td>
      <td className={waits ? "text-stop" : "text-go"}>{waits ? nextOf(held, retryAt, now) : "now"}</td>
    </tr>
  );
}

function Field({
  label,
  most,
  value,
  onChange,
  placeholder,
}: {
  label: string;
  /** The most characters that the backend takes. */
  most: number;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
}) {
  return (
    <input
      type="text"
      aria-label={label}
      autoComplete="off"
      spellCheck={false}
      maxLength={most}
      placeholder={placeholder}
      value={value}
      onChange={({ target }) => {
        onChange(target.value);
      }}
      className="h-9 min-w-32 flex-1 rounded-lg border border-muted/60 bg-card px-3 font-mono text-[13px] placeholder:text-muted"
    />
  );
}

/** The same config with `RAISE` times the rate and capacity. */
function raise(config: RateLimitConfig): RateLimitConfig {
  if (config.kind === "concurrency") return { ...config, slots: config.slots * RAISE };
  const rate = config.rate * RAISE;
  return config.capacity === undefined ? { ...config, rate } : { ...config, rate, capacity: config.capacity * RAISE };
}

function limitOf(config: RateLimitConfig): string {
  if (config.kind === "concurrency") return `${config.slots} at once`;
  const { rate, capacity = rate, period } = config;
  return `${capacity.toLocaleString("en")} at once, ${rate.toLocaleString("en")} ${per(period)}`;
}

/** An override in words: what it does, for how long, and the note. */
function describeOverride({ block, unlimited, config, until, note }: RateLimitOverride, now: number): string {
  const what = block ? "blocked" : unlimited ? "unlimited" : config ? limitOf(config) : "";
  const long = until === undefined ? "until removed" : `for ${wait(until - now)}`;
  return [what, long, note].filter(Boolean).join(" · ");
}

function nextOf(override: Entry["override"], retryAt = 0, now: number): string {
  if (override?.block && override.until === undefined) return "when removed";
  return `in ${wait(retryAt - now)}`;
}
