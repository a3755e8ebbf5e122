import { useServerNow } from "convex-rate-limits/react";
import { useMutation, useQuery } from "convex/react";
import { useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Choice, Lead } from "../controls.js";
import { room } from "../room.js";
import { Log, useLog } from "../stage/Log.js";
import { useMoment } from "../useMoment.js";
import { problem, wait } from "../words.js";

const LIMITS = [
  { value: "send", label: "Burst" },
  { value: "failedLogin", label: "Login lock" },
  { value: "model", label: "LLM queue" },
] as const;

/** As many as fit. */
const SHOWN = 6;

export function Admin() {
  const [name, setName] = useState<(typeof LIMITS)[number]["value"]>("failedLogin");
  const [onlyLimited, setOnlyLimited] = useState(false);
  const page = useQuery(api.stage.admin.list, { name, onlyLimited });
  const reset = useMutation(api.stage.admin.reset);
  const guess = useMutation(api.stage.login.logIn);
  const serverNow = useServerNow();
  const now = useMoment(500);
  const { entries, say } = useLog();
  // The visitor's own room first; a key is all that an admin sees of the others.
  const rows = page?.page.toSorted((a, b) => Number(b.key === room) - Number(a.key === room)).slice(0, SHOWN);
  const fail = (error: unknown) => {
    say("stop", "refused", problem(error, serverNow()));
  };

  return (
    <div className="flex flex-col gap-4">
      <Lead>
        What a limit has stored, key by key: who has how much left, and who has to wait. A reset makes a bucket full
        again. The list shows the limits as the code defines them; a sweep removes keys that are full.
      </Lead>
      <div className="flex flex-wrap items-center gap-3">
        <Choice legend="Limit" options={LIMITS} value={name} onChange={setName} />
        <label className="flex h-10 items-center gap-2 text-sm">
          <input
            type="checkbox"
            className="accent-[var(--go)]"
            checked={onlyLimited}
            onChange={() => {
              setOnlyLimited(!onlyLimited);
            }}
          />
          Only who has to wait
        </label>
        <CallButton
          onClick={() => {
            guess({ room, password: "letmein" }).then((result) => {
              say("plain", result.outcome, "a guess at this room's password");
            }, fail);
          }}
        >
          Guess a password
        </CallButton>
      </div>
      <div className="h-78">
        <table className="w-full table-fixed text-left text-sm">
          <thead className="text-xs text-muted">
            <tr>
              <th className="py-1.5 font-medium">Key</th>
              <th className="w-16 font-medium">Left</th>
              <th className="w-28 font-medium">Next</th>
              <th className="w-20 font-medium">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows?.map(({ key = "", value, ok, retryAt, error }) => (
              <tr key={key} className="h-11 border-t border-line">
                <td className="truncate pr-2 font-mono text-[13px]">{key === room ? `${key} (this room)` : key}</td>
                <td>{error === undefined ? Math.floor(value) : "damaged"}</td>
                <td className={ok ? "text-go" : "text-stop"}>
                  {ok || retryAt === undefined ? "now" : `in ${wait(retryAt - now)}`}
                </td>
                <td className="text-right">
                  <CallButton
                    isSmall
                    label={`Reset ${key}`}
                    onClick={() => {
                      reset({ name, key }).then(() => {
                        say("go", "reset", `${key} is full again`);
                      }, fail);
                    }}
                  >
                    Reset
                  </CallButton>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {rows?.length === 0 && <p className="border-t border-line py-3 text-sm text-muted">Nobody is in the list.</p>}
        {rows === undefined && <div className="skeleton h-40" aria-busy="true" />}
      </div>
      <Log entries={entries} lines={4} empty="Guess a password a few times, and watch the key appear." />
    </div>
  );
}
