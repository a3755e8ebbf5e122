import { DAY, HOUR, MINUTE, type RateLimitConfig, SECOND } from "convex-rate-limits";
import { useServerNow } from "convex-rate-limits/react";
import { useState } from "react";
import { Answer, CallButton, Choice, NumberField } from "../controls.js";
import { problem } from "../words.js";

const KINDS = [
  { value: "token bucket", label: "Token bucket" },
  { value: "fixed window", label: "Fixed window" },
] as const;
const PERIODS = [
  { value: SECOND, label: "1 s" },
  { value: 10 * SECOND, label: "10 s" },
  { value: MINUTE, label: "1 min" },
  { value: HOUR, label: "1 h" },
] as const;

interface Changes {
  kind?: "token bucket" | "fixed window";
  rate?: number;
  period?: number;
  capacity?: number;
  maxReserved?: number;
}

/** Limits to begin with. */
const PRESETS: { name: string; config: Changes }[] = [
  {
    name: "A burst, then a trickle",
    config: { kind: "token bucket", rate: 2, period: SECOND, capacity: 10, maxReserved: 10 },
  },
  {
    name: "Five per ten-second window",
    config: { kind: "fixed window", rate: 5, period: 10 * SECOND, capacity: 5, maxReserved: 10 },
  },
  {
    name: "No bursts: evenly spaced work",
    config: { kind: "token bucket", rate: 2, period: SECOND, capacity: 0, maxReserved: 20 },
  },
];

/** The limit's config; each change goes to the server at once, and to whoever else has the page open. */
export function LimitForm({
  config,
  configure,
}: {
  config: RateLimitConfig | undefined;
  configure: (changes: Changes) => Promise<unknown>;
}) {
  const now = useServerNow();
  const [message, setMessage] = useState("");
  const change = (changes: Changes) => {
    configure(changes).then(
      () => {
        setMessage("");
      },
      (error: unknown) => {
        setMessage(problem(error, now()));
      },
    );
  };
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Choice
        legend="Kind"
        options={KINDS}
        value={KINDS.find(({ value }) => value === config?.kind)?.value}
        onChange={(kind) => {
          change({ kind });
        }}
      />
      <Choice
        legend="Period"
        options={PERIODS}
        value={PERIODS.find(({ value }) => value === config?.period)?.value}
        onChange={(period) => {
          change({ period });
        }}
      />
      <div className="grid grid-cols-3 gap-3">
        <NumberField
          label="Rate"
          value={config?.rate}
          min={0.1}
          max={1000}
          onCommit={(rate) => {
            change({ rate });
          }}
        />
        <NumberField
          label="Capacity"
          value={config?.capacity}
          min={0}
          max={1000}
          onCommit={(capacity) => {
            change({ capacity });
          }}
        />
        <NumberField
          label="Reservable"
          value={config?.maxReserved ?? 0}
          min={0}
          max={1000}
          onCommit={(maxReserved) => {
            change({ maxReserved });
          }}
        />
      </div>
      <div className="flex flex-col gap-1">
        <p className="mb-0.5 text-xs font-medium text-muted">Or start from</p>
        {PRESETS.map(({ name, config: preset }) => (
          <CallButton
            key={name}
            isQuiet
            onClick={() => {
              change(preset);
            }}
          >
            {name}
          </CallButton>
        ))}
      </div>
      <Answer tone={message ? "stop" : "plain"}>{message || (config && sentence(config))}</Answer>
    </div>
  );
}

function sentence({ kind, rate, period, capacity = rate, maxReserved = 0 }: RateLimitConfig): string {
  const arrival =
    kind === "token bucket"
      ? `${rate} a ${unit(period)}, evenly`
      : `${rate} at the start of each window of ${unit(Number(period))}`;
  return `Tokens arrive ${arrival}; at most ${capacity} are saved up, at most ${maxReserved} may be owed.`;
}

function unit(period: number): string {
  const names = new Map([
    [SECOND, "second"],
    [10 * SECOND, "10 seconds"],
    [MINUTE, "minute"],
    [HOUR, "hour"],
    [DAY, "day"],
  ]);
  return names.get(period) ?? `${period} ms`;
}
