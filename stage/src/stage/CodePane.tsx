import type { RateLimitConfig } from "convex-rate-limits";
import { DAY, HOUR, MINUTE, SECOND } from "convex-rate-limits";
import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQueries } from "convex/react";
import { type ReactNode, useMemo, useState } from "react";
import type { Editable, Piece } from "../../site/code.js";
import { api } from "../../convex/_generated/api.js";
import { watchOverflow } from "../reading.js";
import { room } from "../room.js";
import { useIsOnline } from "../useIsOnline.js";
import { problem } from "../words.js";
import type { LimitQuery } from "./useLimit.js";

/** The limits whose numbers may be edited in the code: where to read each, and under which key. */
export type EditableLimits = Readonly<Record<string, { query: LimitQuery; key?: string }>>;

export interface CodeFile {
  /** The file's path in this repository. */
  path: string;
  lines: readonly (readonly Piece[])[];
}

const PERIODS: [string, number | string][] = [
  ["SECOND", SECOND],
  ["10 * SECOND", 10 * SECOND],
  ["3 * SECOND", 3 * SECOND],
  ["MINUTE", MINUTE],
  ["HOUR", HOUR],
  ["DAY", DAY],
];
const CALENDAR: [string, number | string][] = [
  ['"day"', "day"],
  ['"week"', "week"],
  ['"month"', "month"],
];

/** Shows the modules that the tab runs. Marked values can be edited, and take effect at once. */
export function CodePane({
  files,
  limits,
  count,
  onCount,
}: {
  files: readonly CodeFile[];
  limits: EditableLimits;
  count: number;
  onCount: (count: number) => void;
}) {
  // Memoized, because a new object would be a new set of subscriptions.
  const queries = useMemo(
    () =>
      Object.fromEntries(
        Object.entries(limits).map(([name, { query, key = room }]) => [name, { query, args: { key } }]),
      ),
    [limits],
  );
  const snapshots = useQueries(queries) as Record<string, { config: RateLimitConfig } | Error | undefined>;
  const configure = useMutation(api.stage.rooms.configure);
  const now = useServerNow();
  const [refusal, setRefusal] = useState("");

  const hasEditable = files.some(({ lines }) => lines.flat().some(({ edit }) => edit && (edit.limit ?? "") in limits));

  const change = (name: string, shown: RateLimitConfig, changes: object) => {
    configure({ room, name, shown, changes }).then(
      () => {
        setRefusal("");
      },
      (error: unknown) => {
        setRefusal(problem(error, now()));
      },
    );
  };

  const edit = ({ limit, field }: Editable, text: string, where: string): ReactNode => {
    if (limit === undefined) {
      return <NumberInCode key={where} label="count" value={count} onCommit={onCount} onRefuse={setRefusal} />;
    }
    const snapshot = snapshots[limit];
    const config = snapshot instanceof Error ? undefined : snapshot?.config;
    // The tab also shows this code, but does not use its limit.
    if (!(limit in limits)) return undefined;
    const label = `${field} of ${limit}`;
    if (field === "period") {
      return (
        <PeriodInCode
          key={where}
          label={label}
          text={text}
          value={config?.period}
          onCommit={(period) => {
            if (config) change(limit, config, { period });
          }}
        />
      );
    }
    return (
      <NumberInCode
        key={where}
        label={label}
        value={config?.[field as "rate"]}
        fallback={text}
        onCommit={(value) => {
          if (config) change(limit, config, { [field]: value });
        }}
        onRefuse={setRefusal}
      />
    );
  };

  return (
    <div className="flex h-full min-h-0 flex-col bg-code text-code-ink">
      <p role="status" aria-label="About the code" className="min-h-9 px-5 pt-3 text-xs leading-5 text-code-muted">
        {refusal ? (
          <span className="text-[#ffb4a6]">{refusal}</span>
        ) : (
          `What this tab runs, shortened.${hasEditable ? " Marked values can be edited." : ""}`
        )}
      </p>
      <div className="scroller code min-h-0 flex-1">
        <div
          ref={watchOverflow}
          className="h-full overflow-auto px-5 pb-5"
          tabIndex={0}
          role="region"
          aria-label="Code"
        >
          {files.map(({ path, lines }) => (
            <File key={path} path={path} lines={lines} edit={edit} />
          ))}
        </div>
      </div>
    </div>
  );
}

function File({ path, lines, edit }: CodeFile & { edit: (edit: Editable, text: string, where: string) => ReactNode }) {
  return (
    <div className="mb-6">
      <a
        href={`${import.meta.env.BASE_URL}source/${path}.html`}
        className="mb-2 inline-block font-mono text-xs text-code-muted underline decoration-code-muted/50 underline-offset-4 hover:text-code-ink"
      >
        {path}
      </a>
      <pre className="font-mono text-[12.5px] leading-[1.62]">
        {lines.map((line, n) => (
          <span key={n} className="block min-h-[1.62em]">
            {line.map(
              ({ text, kind, edit: editable }, index) =>
                (editable && edit(editable, text, `${n}.${index}`)) ?? (
                  <span key={index} className={kind}>
                    {text}
                  </span>
                ),
            )}
          </span>
        ))}
      </pre>
    </div>
  );
}

const FIELD =
  "rounded bg-[var(--code-mark)] px-1 font-mono text-[12.5px] leading-5 text-[var(--code-mark-ink)] underline decoration-dotted underline-offset-3 focus-visible:outline-2 focus-visible:outline-[var(--code-mark-ink)] disabled:opacity-60";

/** An input in the code. Its text takes effect as soon as it is a number. */
function NumberInCode({
  label,
  value,
  fallback = "",
  onCommit,
  onRefuse,
}: {
  label: string;
  value: number | undefined;
  fallback?: string;
  onCommit: (value: number) => void;
  onRefuse: (why: string) => void;
}) {
  const [draft, setDraft] = useState<string>();
  const isOnline = useIsOnline();
  const shown = draft ?? (value === undefined ? fallback : String(value));
  const isNumber = (text: string) => text.trim() !== "" && Number.isFinite(Number(text.replaceAll("_", "")));
  return (
    <input
      aria-label={label}
      inputMode="decimal"
      autoComplete="off"
      spellCheck={false}
      disabled={!isOnline || value === undefined}
      aria-invalid={draft !== undefined && !isNumber(draft)}
      value={shown}
      style={{ width: `calc(${Math.max(1, shown.length)}ch + 0.6rem)` }}
      className={`${FIELD} aria-invalid:text-[#ffb4a6]`}
      onChange={({ target }) => {
        setDraft(target.value);
        if (isNumber(target.value)) onCommit(Number(target.value.replaceAll("_", "")));
        else onRefuse(`"${target.value}" is not a number, so the ${label} stays ${value ?? fallback}.`);
      }}
      onBlur={() => {
        if (draft !== undefined && !isNumber(draft)) onRefuse("");
        setDraft(undefined);
      }}
    />
  );
}

function PeriodInCode({
  label,
  text,
  value,
  onCommit,
}: {
  label: string;
  text: string;
  value: number | string | undefined;
  onCommit: (period: number | "day" | "week" | "month") => void;
}) {
  const isOnline = useIsOnline();
  const options = text.startsWith('"') ? CALENDAR : PERIODS;
  const chosen = options.find(([, period]) => period === value)?.[0] ?? text;
  return (
    <select
      aria-label={label}
      disabled={!isOnline || value === undefined}
      value={chosen}
      style={{ width: `calc(${chosen.length}ch + 0.6rem)` }}
      className={`${FIELD} appearance-none`}
      onChange={({ target }) => {
        const period = options.find(([name]) => name === target.value)?.[1];
        if (period !== undefined) onCommit(period as number | "day");
      }}
    >
      {options.map(([name]) => (
        <option key={name} value={name} className="bg-code text-code-ink">
          {name}
        </option>
      ))}
    </select>
  );
}
