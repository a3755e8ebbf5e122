/** What shows buckets: one of them, or those that are stored. The wire is not trusted. */
import { bucketOf } from "../src/engine/request.js";
import * as consuming from "../src/operations/consume.js";
import * as listing from "../src/operations/list.js";
import { listArgs, pageValidator } from "../src/wire/admin.js";
import { getArgs } from "../src/wire/answers.js";
import { snapshotValidator } from "../src/wire/snapshots.js";
import { query } from "./_generated/server.js";

export const get = query({
  get args() {
    return getArgs();
  },
  get returns() {
    return snapshotValidator();
  },
  handler: (ctx, args) => consuming.get(ctx, bucketOf(args)),
});

export const list = query({
  get args() {
    return listArgs();
  },
  get returns() {
    return pageValidator();
  },
  handler: (ctx, { name, config, plans, ...options }) =>
    listing.list(ctx, listing.parseList({ name, config, plans }, options)),
});
