/** A room of the page: calls its backend, and sets its limits for a test. */
import { DAY } from "convex-rate-limits";
import { ConvexHttpClient } from "convex/browser";
import type { FunctionReturnType } from "convex/server";
import { api } from "../convex/_generated/api.js";
import type { Site } from "./site.js";

const { stage } = api;

const QUERIES = {
  send: stage.burst.bucket,
  model: stage.promises.bucket,
  failedLogin: stage.login.attempts,
  byUser: stage.several.user,
  byTeam: stage.several.team,
  everyone: stage.several.everyone,
  message: stage.rollback.bucket,
  requests: stage.gate.bucket,
  bucket: stage.windows.bucket,
  fixed: stage.windows.fixed,
  sliding: stage.windows.sliding,
} as const;

export type LimitName = keyof typeof QUERIES;

export class Room {
  readonly client: ConvexHttpClient;
  readonly name: string;

  constructor(
    site: Site,
    readonly url: string,
  ) {
    this.client = new ConvexHttpClient(site.url, { logger: false });
    this.name = new URL(url).searchParams.get("room") ?? "";
  }

  async snapshot(limit: LimitName): Promise<FunctionReturnType<typeof stage.burst.bucket>> {
    return await this.client.query(QUERIES[limit], { key: this.name });
  }

  /** Changes a limit, as an edit of the code does. */
  async edit(limit: LimitName, changes: { rate?: number; period?: number; capacity?: number }): Promise<void> {
    const { config } = await this.snapshot(limit);
    await this.client.mutation(stage.rooms.configure, { room: this.name, name: limit, shown: config, changes });
  }

  /** Makes limits so slow that they refill nothing while a test runs, even on a busy machine. */
  async slow(...limits: readonly LimitName[]): Promise<void> {
    for (const limit of limits) {
      const { config } = await this.snapshot(limit);
      const capacity = config.kind === "sliding window" ? {} : { capacity: config.capacity ?? config.rate };
      await this.edit(limit, { period: DAY, ...capacity });
    }
  }
}
