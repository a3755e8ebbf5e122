/**
 * One client's WebSocket, in Convex's sync protocol (that of convex 1.48). The client accepts a Transition only if it starts at the
 * version at which the previous one ended. It accepts a mutation's result only after a Transition has reached its timestamp.
 */
import type { JSONValue } from "convex/values";
import type { WebSocket } from "ws";
import type { Backend, Outcome } from "./backend.js";
import type { LiveQueries, LiveQuery } from "./liveQueries.js";
import type { MutationLog } from "./mutationLog.js";
import { encodeTimestamp, nextTimestamp } from "./timestamps.js";

interface Version {
  querySet: number;
  identity: number;
  ts: string;
}

type Modification =
  | { type: "Add"; queryId: number; udfPath: string; args: JSONValue[] }
  | { type: "Remove"; queryId: number };

type ClientMessage =
  | { type: "Connect"; sessionId: string }
  | { type: "Authenticate"; tokenType: "None" | "User" | "Admin"; baseVersion: number }
  | { type: "ModifyQuerySet"; newVersion: number; modifications: Modification[] }
  | { type: "Mutation" | "Action"; requestId: number; udfPath: string; args: JSONValue[] }
  | { type: "Event" };

interface Subscription {
  readonly live: LiveQuery;
  /** The version of the outcome that the client has. */
  sent: number;
}

export class Session {
  private sessionId = "";
  private version: Version = { querySet: 0, identity: 0, ts: encodeTimestamp(0n) };
  private next = { querySet: 0, identity: 0 };
  private isTransitionDue = false;
  private readonly subscriptions = new Map<number, Subscription>();
  private removed: number[] = [];

  constructor(
    private readonly socket: WebSocket,
    private readonly backend: Pick<Backend, "run">,
    private readonly queries: LiveQueries,
    private readonly mutations: MutationLog,
  ) {}

  /** @throws if the text is not a message of the protocol. */
  receive(text: string): void {
    const message = JSON.parse(text) as ClientMessage;
    switch (message.type) {
      case "Connect":
        this.sessionId = message.sessionId;
        return;
      case "Authenticate":
        this.authenticate(message);
        return;
      case "ModifyQuerySet":
        for (const modification of message.modifications) this.modify(modification);
        this.next.querySet = message.newVersion;
        this.transitionSoon();
        return;
      case "Mutation":
      case "Action": {
        // Taken apart here, so that a bad message throws here: nobody waits for the calls.
        const { type, requestId, udfPath } = message;
        const [args = {}] = message.args;
        void (type === "Mutation" ? this.mutate(requestId, udfPath, args) : this.act(requestId, udfPath, args));
        return;
      }
      case "Event":
        return;
      default:
        throw new Error(`${JSON.stringify(message)} is not a message of Convex's sync protocol.`);
    }
  }

  /** Sends what a round of queries has changed. If nothing has, it sends a Transition only if the client waits for one. */
  transition(): void {
    const modifications: object[] = this.removed.map((queryId) => ({ type: "QueryRemoved", queryId }));
    this.removed = [];
    for (const [queryId, subscription] of this.subscriptions) {
      const { outcome, version } = subscription.live;
      if (!outcome || version === subscription.sent) continue;
      subscription.sent = version;
      modifications.push({ queryId, ...queryResult(outcome), logLines: [], journal: null });
    }
    if (modifications.length === 0 && !this.isTransitionDue) return;
    this.isTransitionDue = false;
    const startVersion = this.version;
    this.version = { ...this.next, ts: encodeTimestamp(nextTimestamp()) };
    this.send({ type: "Transition", startVersion, endVersion: this.version, modifications });
  }

  ping(): void {
    this.send({ type: "Ping" });
  }

  close(): void {
    for (const { live } of this.subscriptions.values()) this.queries.unsubscribe(live);
    this.subscriptions.clear();
  }

  private authenticate({ tokenType, baseVersion }: { tokenType: string; baseVersion: number }): void {
    if (tokenType !== "None") {
      const error = "The embedded backend has no sign-in.";
      this.send({ type: "AuthError", error, baseVersion, authUpdateAttempted: true });
      return;
    }
    this.next.identity = baseVersion + 1;
    this.transitionSoon();
  }

  private modify(modification: Modification): void {
    const { queryId } = modification;
    if (modification.type === "Add") {
      const live = this.queries.subscribe(modification.udfPath, modification.args[0] ?? {});
      this.subscriptions.set(queryId, { live, sent: 0 });
      return;
    }
    const subscription = this.subscriptions.get(queryId);
    if (!subscription) return;
    this.queries.unsubscribe(subscription.live);
    this.subscriptions.delete(queryId);
    this.removed.push(queryId);
  }

  private async mutate(requestId: number, udfPath: string, args: JSONValue) {
    const { outcome, ts } = await this.mutations.once(this.sessionId, requestId, () =>
      this.backend.run("mutation", udfPath, args),
    );
    this.send({ type: "MutationResponse", requestId, ...response(outcome), ts: encodeTimestamp(ts), logLines: [] });
    this.transitionSoon();
  }

  private async act(requestId: number, udfPath: string, args: JSONValue) {
    const outcome = await this.backend.run("action", udfPath, args);
    this.send({ type: "ActionResponse", requestId, ...response(outcome), logLines: [] });
  }

  private transitionSoon(): void {
    this.isTransitionDue = true;
    this.queries.refresh();
  }

  private send(message: object): void {
    if (this.socket.readyState === this.socket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

function queryResult(outcome: Outcome): object {
  if (outcome.ok) return { type: "QueryUpdated", value: outcome.value };
  return { type: "QueryFailed", errorMessage: outcome.message, ...errorData(outcome) };
}

function response(outcome: Outcome): object {
  if (outcome.ok) return { success: true, result: outcome.value };
  return { success: false, result: outcome.message, ...errorData(outcome) };
}

/** The error's data, absent unless the function threw a ConvexError: the client makes a ConvexError of any error that has data. */
function errorData({ data }: Extract<Outcome, { ok: false }>): object {
  return data === undefined ? {} : { errorData: data };
}
