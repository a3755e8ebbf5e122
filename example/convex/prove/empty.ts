/** A mutation without a limit: what the others are compared with. */
import { timedMutation } from "./hits.js";

export const hit = timedMutation(() => Promise.resolve({ ok: true }));
