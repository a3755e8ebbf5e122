import { useCountdown, useRateLimit, useServerNow } from "convex-rate-limits/react";
import { useMutation } from "convex/react";
import { type SubmitEvent, useState } from "react";
import { api } from "../../convex/_generated/api.js";
import { CallButton, Lead, usePending } from "../controls.js";
import { room } from "../room.js";
import { useAutoplay } from "../stage/autoplay.js";
import { Cells } from "../stage/Cells.js";
import { Log, useLog } from "../stage/Log.js";
import { useLimit } from "../stage/useLimit.js";
import { useIsOnline } from "../useIsOnline.js";
import { problem, wait } from "../words.js";

const PASSWORD = "correct horse";

export function Login() {
  const { capacity, value } = useLimit(api.stage.login.attempts, room, 250);
  const { status, check } = useRateLimit(api.stage.login.attempts, { key: room });
  const seconds = useCountdown(status?.ok === false ? status.retryAt : undefined);
  const now = useServerNow();
  const isOnline = useIsOnline();
  const logIn = useMutation(api.stage.login.logIn);
  const unlock = useMutation(api.stage.login.unlock);
  const [password, setPassword] = useState("letmein");
  const { entries, say } = useLog();
  const left = check({ count: 0 })?.remaining;
  const isLocked = status?.ok === false;
  const isBlocked = isLocked && status.reason === "blocked";

  const attempt = async (password: string) => {
    try {
      const result = await logIn({ room, password });
      if (result.outcome === "welcome") say("go", "welcome", "Ada is logged in, and the count is reset.");
      else if (result.outcome === "wrong") say("stop", "wrong", `${amountOfGuesses(result.left)} left`);
      else if (result.outcome === "blocked") say("stop", "blocked", "by an admin, for any password");
      else say("stop", "locked", `for any password; next guess in ${wait(result.retryAt - now())}`);
    } catch (error) {
      say("stop", "failed", problem(error, now()));
    }
  };
  const mail = () =>
    unlock({ room }).then(() => {
      say("plain", "unlocked", "with the link in the mail");
    });
  const [isPending, track] = usePending();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    track(attempt(password));
  };
  const guess = [900, () => attempt("letmein")] as const;
  useAutoplay([
    guess,
    guess,
    guess,
    guess,
    guess,
    guess,
    [1500, () => attempt(PASSWORD)],
    [2500, mail],
    [1500, () => attempt(PASSWORD)],
    [3000, () => undefined],
  ]);

  return (
    <div className="flex flex-col gap-4">
      <Lead tryThis="guess until the account is locked, then use the right password.">
        Only a wrong password takes a token; without tokens the account is locked, even for the right password.
      </Lead>
      <p className="flex h-14 items-baseline gap-2.5">
        <span
          className={`min-w-[1.2ch] text-[3.4rem] leading-none font-bold tracking-[-0.03em] ${isLocked ? "text-stop" : "text-go"}`}
        >
          {left ?? "–"}
        </span>
        <span className="text-[15px] leading-tight text-muted">
          {left === undefined ? (
            "Loading…"
          ) : isBlocked ? (
            <>
              <span className="font-medium text-stop">Blocked</span> · by an admin
            </>
          ) : isLocked ? (
            <>
              <span className="font-medium text-stop">Locked</span> · one more guess in {wait((seconds ?? 0) * 1000)}
            </>
          ) : (
            `${left === 1 ? "guess" : "guesses"} left of ${capacity}`
          )}
        </span>
      </p>
      <Cells
        value={value}
        capacity={capacity}
        label={left === undefined ? "Loading" : `${amountOfGuesses(left)} left`}
      />
      <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
        <label className="min-w-40 flex-1">
          <span className="mb-1.5 block text-xs font-medium text-muted">Ada's password</span>
          <input
            type="text"
            autoComplete="off"
            spellCheck={false}
            disabled={!isOnline}
            value={password}
            onChange={({ target }) => {
              setPassword(target.value);
            }}
            className="h-10 w-full rounded-lg border border-muted/60 bg-card px-3 font-mono text-sm disabled:opacity-45"
          />
        </label>
        <button
          type="submit"
          aria-busy={isPending}
          disabled={!isOnline}
          className="h-10 rounded-lg bg-go px-4 text-sm font-medium text-go-ink hover:brightness-110 disabled:opacity-45"
        >
          Log in
        </button>
        <CallButton disabled={!status || left === capacity} onClick={mail}>
          Mail link
        </CallButton>
      </form>
      <p className="text-sm text-muted">
        The right one is{" "}
        <button
          type="button"
          className="rounded font-mono text-ink underline decoration-muted underline-offset-4 hover:decoration-ink"
          onClick={() => {
            setPassword(PASSWORD);
          }}
        >
          {PASSWORD}
        </button>
        .
      </p>
      <Log entries={entries} lines={8} empty="Nobody has tried yet." />
    </div>
  );
}

function amountOfGuesses(n: number): string {
  return n === 1 ? "1 guess" : `${n} guesses`;
}
