/** A mutation without a limit, with which the others are compared. */
import { timedMutation } from "./hits.js";

export const hit = timedMutation(() => Promise.resolve({ ok: true }));
