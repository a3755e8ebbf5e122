import { useCountdown, useRateLimit, useServerNow } from "convex-rate-limits/react";
import { useMutation } from "convex/react";
import { type SubmitEvent, useState } from "react";
import { api } from "../convex/_generated/api.js";
import { Answer, CallButton, type Tone } from "./controls.js";
import { Panel } from "./Panel.js";
import { room } from "./room.js";
import { useIsOnline } from "./useIsOnline.js";
import { problem, wait } from "./words.js";

const PASSWORD = "correct horse";

export function LoginPanel() {
  return (
    <Panel
      number={2}
      title="Failed logins"
      explanation="Only failures take tokens: five wrong passwords lock the account, one more guess comes back every six minutes, and a right one resets the limit. The denial is returned, not thrown, so that the failed attempt counts."
    >
      <Logins />
    </Panel>
  );
}

function Logins() {
  const { status, check } = useRateLimit(api.playground.attempts, { key: room });
  const seconds = useCountdown(status?.ok === false ? status.retryAt : undefined);
  const now = useServerNow();
  const isOnline = useIsOnline();
  const openAccount = useMutation(api.playground.openAccount);
  const logIn = useMutation(api.logins.logIn);
  const unlock = useMutation(api.playground.unlockAccount);
  const [password, setPassword] = useState("letmein");
  const [answer, setAnswer] = useState<{ tone: Tone; text: string }>();
  const left = check({ count: 0 })?.remaining;
  const isLocked = status?.ok === false;

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      const { email } = await openAccount({ room });
      const result = await logIn({ email, password });
      setAnswer(describe(result, now()));
    } catch (error) {
      setAnswer({ tone: "stop", text: problem(error, now()) });
    }
  };

  return (
    <div className="flex flex-1 flex-col gap-4">
      <form onSubmit={(event) => void submit(event)} className="flex flex-wrap items-end gap-2">
        <label className="min-w-40 flex-1">
          <span className="mb-1.5 block text-xs font-medium text-muted">Ada's password</span>
          <input
            type="text"
            autoComplete="off"
            spellCheck={false}
            value={password}
            onChange={({ target }) => {
              setPassword(target.value);
            }}
            className="h-10 w-full rounded-lg border border-line bg-card px-3 font-mono text-sm"
          />
        </label>
        <button
          type="submit"
          disabled={!isOnline}
          className="h-10 rounded-lg bg-go px-4 text-sm font-medium text-go-ink hover:brightness-110 disabled:opacity-45"
        >
          Log in
        </button>
      </form>
      <p className="text-sm text-muted">
        The right one is{" "}
        <button
          type="button"
          className="rounded font-mono text-ink underline decoration-line underline-offset-4 hover:decoration-ink"
          onClick={() => {
            setPassword(PASSWORD);
          }}
        >
          {PASSWORD}
        </button>
        .
      </p>

      <div className="flex min-h-18 flex-wrap items-center gap-x-4 gap-y-3 rounded-lg bg-well px-4 py-3">
        <div className="flex gap-1.5" role="img" aria-label={left === undefined ? "Loading" : `${guesses(left)} left`}>
          {Array.from({ length: 5 }, (_, index) => (
            <span
              key={index}
              className={`h-7 w-3.5 rounded-sm ${left === undefined ? "skeleton" : index < left ? "bg-go" : "bg-transparent ring-1 ring-stop ring-inset"}`}
            />
          ))}
        </div>
        <p className="min-w-36 flex-1 text-sm">
          {left === undefined ? (
            <span className="text-muted">Loading…</span>
          ) : isLocked ? (
            <>
              <span className="block font-medium text-stop">Locked</span>
              <span className="block text-muted">again in {wait((seconds ?? 0) * 1000)}</span>
            </>
          ) : (
            <>
              <span className="block font-medium">{guesses(left)} left</span>
              <span className="block text-muted">
                {left === 5 ? "the limit is untouched" : "until the account locks"}
              </span>
            </>
          )}
        </p>
        <CallButton
          disabled={!status || left === 5}
          onClick={() => {
            void unlock({ room }).then(() => {
              setAnswer({ tone: "go", text: "Unlocked with the link in the mail." });
            });
          }}
        >
          Mail link
        </CallButton>
      </div>
      <Answer tone={answer?.tone ?? "plain"}>{answer?.text ?? "Nobody has tried yet."}</Answer>
    </div>
  );
}

type LogInResult =
  { outcome: "welcome" } | { outcome: "wrong"; attemptsLeft: number } | { outcome: "locked"; retryAt: number };

function describe(result: LogInResult, now: number): { tone: Tone; text: string } {
  switch (result.outcome) {
    case "welcome":
      return { tone: "go", text: "Welcome, Ada. The limit is reset." };
    case "wrong":
      return { tone: "stop", text: `Wrong password. ${guesses(result.attemptsLeft)} left.` };
    case "locked":
      return {
        tone: "stop",
        text: `Locked, whatever the password is. Next guess in ${wait(result.retryAt - now)}.`,
      };
  }
}

function guesses(n: number): string {
  return `${n} ${n === 1 ? "guess" : "guesses"}`;
}
