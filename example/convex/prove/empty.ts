/** A mutation without a limit: what the others are compared with. */
import { mutation } from "../_generated/server.js";
import { hitArgs, timed, vHit } from "./hits.js";
import { admit } from "./secret.js";

export const hit = mutation({
  args: hitArgs,
  returns: vHit,
  handler: (_ctx, { secret }) => {
    admit(secret);
    return timed(() => Promise.resolve({ ok: true }));
  },
});
