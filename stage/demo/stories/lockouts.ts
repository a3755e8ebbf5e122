import { api, internal } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { sleepUntil } from "../clock.js";
import { emailOf, PASSWORD, signUp } from "../people.js";
import { check, heading, table, wait } from "../report.js";

export async function lockouts(backend: Backend): Promise<void> {
  heading("Lockouts that grow", "1 s after a failed sign-in, then 10 s, 1 min, 10 min; a success resets it");
  await signUp(backend, "Ada");
  const email = emailOf("Ada");
  const rows = [["caller", "password", "answer", ""]];
  const signIn = async (who: string, password: string) => {
    const askedAt = Date.now();
    const answer = await backend.mutation(api.lockouts.signIn, { email, password });
    const lockedUntil = answer.outcome === "welcome" ? askedAt : answer.lockedUntil;
    // The lock counts from within the call, and the call itself takes a few ms, so the length is rounded down to seconds.
    const lockMs = Math.floor((lockedUntil - askedAt) / 1000) * 1000;
    const right = password === PASSWORD ? "right" : "wrong";
    rows.push([who, right, answer.outcome, lockMs > 0 ? `locked for ${wait(lockMs)}` : ""]);
    return { outcome: answer.outcome, lockMs, lockedUntil };
  };

  const first = await signIn("Mallory", "guess 1");
  const during = await signIn("Ada", PASSWORD);
  await sleepUntil(first.lockedUntil);
  const second = await signIn("Mallory", "guess 2");
  const { page } = await backend.query(api.admin.keys, { name: "failedSignIn", onlyOverridden: true });
  await backend.mutation(internal.lockouts.unlock, { email });
  rows.push(["support", "", "unlocks the account", ""]);
  const back = await signIn("Ada", PASSWORD);
  const slip = await signIn("Ada", "corect horse");
  table(rows);

  const seconds = [first, second, slip].map(({ lockMs }) => lockMs / 1000);
  check("the lock grows, and a success resets the failures", String(seconds) === "1,10,1", seconds);
  check("the right password does not open it", during.outcome === "locked", during);
  check("an admin sees who is locked, and why", page[0]?.override?.note === "failures: 2", page);
  check("after the unlock the owner can sign in again", back.outcome === "welcome", back);
}
