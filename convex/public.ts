/**
 * The operations of src/, run on the component's own tables. The wire is not trusted: arguments are parsed again.
 * Validators are getters, since only a deploy reads them, and written out, since the components directory looks for
 * them in this text. Every run evaluates the whole module, so what changes a bucket without asking it is in upkeep.ts,
 * and what shows it in snapshots.ts.
 */
import { requestOf } from "../src/engine/request.js";
import * as consuming from "../src/operations/consume.js";
import * as wire from "../src/wire/answers.js";
import { mutation, query } from "./_generated/server.js";

export const consume = mutation({
  get args() {
    return wire.demandArgs();
  },
  get returns() {
    return wire.statusValidator();
  },
  handler: (ctx, args) => consuming.consume(ctx, requestOf(args)),
});

export const check = query({
  get args() {
    return wire.demandArgs();
  },
  get returns() {
    return wire.statusValidator();
  },
  handler: (ctx, args) => consuming.check(ctx, requestOf(args)),
});

export const consumeAll = mutation({
  get args() {
    return wire.allArgs();
  },
  get returns() {
    return wire.allStatusValidator();
  },
  handler: (ctx, { requests }) => consuming.consumeAll(ctx, requests.map(requestOf)),
});

export const checkAll = query({
  get args() {
    return wire.allArgs();
  },
  get returns() {
    return wire.allStatusValidator();
  },
  handler: (ctx, { requests }) => consuming.checkAll(ctx, requests.map(requestOf)),
});
