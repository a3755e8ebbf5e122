import { isDeepStrictEqual } from "node:util";
import { ConvexError } from "convex/values";
import { api } from "../../convex/_generated/api.js";
import type { Backend } from "../backend.js";
import { signUp } from "../people.js";
import { check, heading, table } from "../report.js";

export async function rollback(backend: Backend): Promise<void> {
  heading(
    "A mutation that fails gives its tokens back",
    "sendMessage, in the component; sendFeedback, in the app's table",
  );
  const [author, bob, cem] = [await signUp(backend, "Ada"), await signUp(backend, "Bob"), await signUp(backend, "Cem")];
  await backend.mutation(api.messages.send, { author, to: bob, body: "Are you there?" });
  await backend.mutation(api.feedback.send, { user: author, text: "Nice." });
  await backend.mutation(api.signUps.close, { user: cem });

  const messages = await attempt(
    () => backend.mutation(api.messages.broadcast, { author, to: [bob, bob, cem], body: "A party!" }),
    () => backend.query(api.messages.quota, { author }),
  );
  const feedback = await attempt(
    () => backend.mutation(api.feedback.send, { user: author, text: "Nice." }),
    () => backend.query(api.feedback.quota, { user: author }),
  );
  const inbox = await backend.query(api.messages.inbox, { user: bob });

  table([
    ["mutation", "took", "then threw", "left before", "left after"],
    ["broadcast to three, one of whom has left", "3", ...outcome(messages)],
    ["the same feedback once more", "1", ...outcome(feedback)],
  ]);
  check("the broadcast failed for the user who has left", messages.thrown === "NoSuchUser", messages);
  check("its tokens are back, exactly, in the component", isDeepStrictEqual(messages.before, messages.after), messages);
  check("and nobody got the message", inbox.length === 1, inbox);
  check("the feedback failed because it was sent twice", feedback.thrown === "AlreadySent", feedback);
  check("its token is back, exactly, in the app's table", isDeepStrictEqual(feedback.before, feedback.after), feedback);
}

interface Attempt {
  before: { value: number };
  after: { value: number };
  thrown: string;
}

async function attempt(mutate: () => Promise<unknown>, quota: () => Promise<{ value: number }>): Promise<Attempt> {
  const before = await quota();
  const thrown = await mutate().then(() => "nothing", kindOf);
  return { before, after: await quota(), thrown };
}

/** The kind of an error that the app throws on purpose. Any other error ends the story. */
function kindOf(error: unknown): string {
  if (error instanceof ConvexError) return (error.data as { kind: string }).kind;
  throw error;
}

function outcome({ thrown, before, after }: Attempt): string[] {
  return [thrown, String(before.value), String(after.value)];
}
