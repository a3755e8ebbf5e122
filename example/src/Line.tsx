/** A line of text and a button, and what is said if the server denies. */
import { isRateLimitError } from "convex-rate-limits";
import { type SubmitEvent, useState } from "react";

interface LineProps {
  label: string;
  button: string;
  isEnabled: boolean;
  onSubmit: (text: string) => Promise<unknown>;
}

export function Line({ label, button, isEnabled, onSubmit }: LineProps) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    try {
      await onSubmit(text);
      setText("");
      setProblem("");
    } catch (error) {
      setProblem(problemOf(error));
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      <input
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <button disabled={!isEnabled || text === ""}>{button}</button>
      <p role="alert">{problem}</p>
    </form>
  );
}

/** The button is disabled while a limit denies, but another tab may be faster: the server decides. */
function problemOf(error: unknown): string {
  if (!isRateLimitError(error)) return "That did not work.";
  const { reason, retryAfter } = error.data;
  return reason ? `Not possible: ${reason}.` : `Too fast. Try again in ${Math.ceil(retryAfter / 1000)} s.`;
}
