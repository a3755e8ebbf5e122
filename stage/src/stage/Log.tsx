import { useServerNow } from "convex-rate-limits/react";
import { useCallback, useState } from "react";
import { colourOf, type Tone } from "../controls.js";
import { useServerTime } from "../useServerTime.js";
import { wait } from "../words.js";

export interface Entry {
  at: number;
  tone: Tone;
  verdict: string;
  text: string;
}

const MOST_ENTRIES = 200;

export type Say = (tone: Tone, verdict: string, text: string) => void;

/** The calls and their answers, the latest first. */
export function useLog(): { entries: readonly Entry[]; say: Say } {
  const now = useServerNow();
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const say: Say = useCallback(
    (tone, verdict, text) => {
      const at = now();
      setEntries((before) => [{ at, tone, verdict, text }, ...before.slice(0, MOST_ENTRIES)]);
    },
    [now],
  );
  return { entries, say };
}

/** Shows the log. A screen reader announces the latest entry; the lines below it only move down. */
export function Log({ entries, lines = 5, empty }: { entries: readonly Entry[]; lines?: number; empty: string }) {
  const now = useServerTime(200);
  const [latest, ...older] = entries;
  return (
    <div className="border-t border-line text-sm" style={{ height: `${lines * 1.95 + 0.6}rem` }}>
      <div role="status">{latest ? <Line entry={latest} now={now} /> : <p className="pt-2 text-muted">{empty}</p>}</div>
      <div role="group" aria-label="Earlier calls">
        {/* The key is the place, not the entry: moving lines would shift the layout at every call. */}
        {older.slice(0, lines - 1).map((entry, place) => (
          <Line key={place} entry={entry} now={now} />
        ))}
      </div>
    </div>
  );
}

function Line({ entry: { at, tone, verdict, text }, now }: { entry: Entry; now: number }) {
  return (
    <p className="grid h-[1.95rem] grid-cols-[4.9rem_minmax(0,1fr)] items-center gap-x-2 border-b border-line/60 sm:grid-cols-[3.4rem_4.9rem_minmax(0,1fr)]">
      <span aria-hidden="true" className="hidden text-muted sm:inline">
        {now - at < 500 ? "now" : wait(now - at)}
      </span>
      <span className={`font-semibold ${colourOf(tone)}`}>{verdict}</span>
      <span className="truncate" title={text}>
        {text}
      </span>
    </p>
  );
}
