/** Limits on one row: each move is made through the public functions, and its answer judged by the exact twin. */
import { type Asked, type Definition, Driver, type Job, type Override, type Status } from "./adapter.js";
import { advance, isQuota, most, NEVER } from "./bucket.js";
import { FakeDb } from "../support/fakeDb.js";
import { isExact, signature } from "./history.js";
import { type Config, FIVE_YEARS, Scale, T0 } from "./terms.js";
import * as twin from "./twin.js";

export type Call = { readonly key: string; readonly plan?: string | undefined; readonly count: number };
export type Move =
  | { readonly act: "wait"; readonly ms: number }
  | (Call & {
      readonly act: "take" | "check";
      readonly reserve?: Asked["reserve"];
      readonly refundable?: true | undefined;
    })
  /** A charge, or a gift if the count is negative. */
  | (Call & { readonly act: "adjust" })
  /** Without a ticket it is of what nobody took. */
  | (Call & { readonly act: "refund"; readonly takenAt: number; readonly ticket?: Ticket | undefined })
  | (Call & { readonly act: "schedule" })
  | { readonly act: "cancel"; readonly ticket: Ticket }
  | { readonly act: "begin"; readonly ticket: Ticket }
  | { readonly act: "pause"; readonly key: string; readonly plan?: string | undefined; readonly until: number }
  | { readonly act: "reset" | "clear"; readonly key: string }
  | { readonly act: "usage"; readonly key: string; readonly plan?: string | undefined }
  | { readonly act: "override"; readonly key: string; readonly override: Override }
  | { readonly act: "deploy"; readonly definition: Definition };

/** What was taken and may come back: a job, or tokens with a date. */
export interface Ticket extends twin.Ticket {
  readonly key: string;
  readonly plan: string | undefined;
  readonly count: number;
  readonly date: number;
  readonly job?: Job;
}

const NAME = "a";
const MOST_CASES = 200;

export class World {
  readonly log: string[] = [];
  readonly tally = { answers: 0, exact: 0 };
  readonly tickets: Ticket[] = [];
  now = T0;
  definition: Definition;
  lastRetry = T0;
  readonly #scale: Scale;
  readonly #database = new FakeDb();
  #driver: Driver;
  #ids = 0;
  readonly #cases = new Map<string, readonly twin.Case[]>();
  readonly #overrides = new Map<string, Override>();

  /** @param writesMatter - see `Setting` of twin.ts. @param clock - what `Date.now` tells. */
  constructor(
    definition: Definition,
    private readonly clock: { now: number },
    private readonly writesMatter = true,
  ) {
    this.#scale = new Scale();
    this.definition = definition;
    this.clock.now = this.now;
    this.#driver = new Driver(this.#database, { [NAME]: definition });
    this.#note("deploy", definition);
  }

  /** @throws when the answer is wrong, with all that has happened. */
  async make(move: Move): Promise<void> {
    if (move.act !== "wait") this.#note(move.act, { ...move, act: undefined });
    await (this.#acts[move.act] as (move: Move) => unknown)(move);
  }

  readonly #acts: { readonly [Act in Move["act"]]: (move: Move & { readonly act: Act }) => unknown } = {
    wait: ({ ms }) => (this.clock.now = this.now += ms),
    take: (move) => this.#ask(move),
    check: (move) => this.#ask(move),
    schedule: (move) => this.#schedule(move),
    adjust: (move) => this.#adjust(move),
    refund: (move) => this.#refund(move),
    cancel: ({ ticket }) => this.#cancel(ticket),
    begin: ({ ticket }) => this.#database.begin(ticket.job?.id ?? ""),
    usage: (move) => this.#usage(move),
    deploy: ({ definition }) => {
      this.definition = definition;
      this.#driver = new Driver(this.#database, { [NAME]: definition });
    },
    pause: async ({ key, plan, until }) => {
      await this.#driver.pause({ name: NAME, key, plan, until });
      this.#advance(key, "done", (state) => [twin.afterPause(state, until, this.now)]);
    },
    reset: async ({ key }) => {
      await this.#driver.reset({ name: NAME, key });
      this.#advance(key, "done", (state) => twin.afterReset(state, this.now));
    },
    override: async ({ key, override }) => {
      this.#overrides.set(key, override);
      await this.#driver.override({ name: NAME, key }, override);
    },
    clear: async ({ key }) => {
      this.#overrides.delete(key);
      await this.#driver.clearOverride({ name: NAME, key });
    },
  };

  async #ask(move: Move & { readonly act: "take" | "check" }): Promise<void> {
    const { act, key, plan, count, reserve, refundable } = move;
    const within = reserve === undefined ? undefined : reserve === true ? Infinity : reserve.within;
    const setting = this.#setting(move, within);
    const asked = { name: NAME, key, plan, count, reserve, refundable };
    const status = await (act === "check" ? this.#driver.check(asked) : this.#driver.take(asked));
    this.#count(key, setting);
    this.#advance(key, status, (state) => twin.afterAsk(state, setting, status, act === "check"), setting);
    this.lastRetry = status.retryAt ?? this.lastRetry;
    if (act === "take" && status.ok && refundable && status.takenAt !== undefined) this.#keep(move, setting, status);
  }

  #keep({ key, plan, count }: Call, { stretches, id, demand }: twin.Setting, status: Status, job?: Job): void {
    const [{ terms }] = stretches as [twin.Stretch];
    const madeAt = status.takenAt ?? job?.takenAt ?? this.now;
    const startsAt = status.retryAt ?? madeAt;
    // A sliding window's promise is dated with its start.
    const date = terms.kind === "sliding window" ? startsAt : madeAt;
    const { units } = demand;
    this.tickets.push({ key, plan, count, id, bucket: terms.id, units, madeAt, startsAt, date, ...(job && { job }) });
  }

  async #schedule(move: Move & { readonly act: "schedule" }): Promise<void> {
    const { key, plan, count } = move;
    const setting = this.#setting(move, FIVE_YEARS);
    const { ok, retryAt, runAt, reason, job } = await this.#driver.schedule({ name: NAME, key, plan, count });
    const waits = ok && runAt !== this.now ? { retryAt: runAt } : ok ? {} : { retryAt };
    // A schedule does not say that the key is blocked.
    const isBlocked = !ok && setting.stretches[0]?.way === "block";
    const status = { ok, ...waits, reason: reason ?? (isBlocked ? "blocked" : undefined) } as Status;
    this.#advance(key, { ...status, job }, (state) => twin.afterAsk(state, setting, status, false), setting);
    if (job) this.#keep(move, setting, status, job);
  }

  async #adjust(move: Move & { readonly act: "adjust" }): Promise<void> {
    const { key, plan, count } = move;
    const setting = this.#setting({ ...move, count: Math.abs(count) });
    const status = await this.#driver.adjust({ name: NAME, key, plan, count });
    const judge = count < 0 ? twin.afterGift : twin.afterCharge;
    this.#advance(key, status, (state) => judge(state, setting, status), setting);
  }

  async #refund(move: Move & { readonly act: "refund" }): Promise<void> {
    const { key, plan, count, takenAt, ticket } = move;
    if (ticket) this.#close(ticket);
    const setting = this.#setting(move);
    const status = await this.#driver.adjust({ name: NAME, key, plan, count: -count, takenAt });
    const refund = { ticket, date: takenAt };
    this.#advance(key, status, (state) => twin.afterRefund(state, setting, refund, status), setting);
  }

  async #cancel(ticket: Ticket): Promise<void> {
    this.#close(ticket);
    const { key, count, date } = ticket;
    const { canceled } = await this.#driver.cancel(ticket.job);
    if (!canceled) return;
    // It may follow the terms of any plan, also beside an override.
    const settings = this.#plans().flatMap((plan) => {
      const setting = this.#setting({ key, plan, count });
      return setting.stretches.map((stretch) => ({ ...setting, stretches: [stretch] }));
    });
    const termsOf = ({ stretches: [own] }: twin.Setting) => own && signature(own.terms);
    const isFirst = (own: twin.Setting, i: number) => settings.findIndex((one) => termsOf(one) === termsOf(own)) === i;
    const different = settings.filter(isFirst);
    this.#advance(key, "canceled", (state) =>
      different.flatMap((setting) => twin.afterRefund(state, setting, { ticket, date })),
    );
  }
  #close(ticket: Ticket): void {
    const index = this.tickets.indexOf(ticket);
    if (index >= 0) this.tickets.splice(index, 1);
  }

  /** What a page shows of a quota: what the window has used, and of how much (design §6). */
  async #usage({ key, plan }: Move & { readonly act: "usage" }): Promise<void> {
    const setting = this.#setting({ key, plan, count: 0 });
    const [{ terms, way }] = setting.stretches as [twin.Stretch];
    if (!isQuota(terms) || way === "block" || way === "unlimited") return;
    const usage = await this.#driver.usage({ name: NAME, key, plan }, this.now);
    this.#advance(
      key,
      usage,
      (state) => {
        const bucket = twin.bucketOf(state, terms, this.now);
        const [lo, hi] = [advance(bucket.lo, this.now, terms), advance(bucket.hi, this.now, terms)];
        // Debts of later windows may count as used.
        const missing = terms.capacity - lo.value;
        // Freedom: a window that began early and brought nothing may show what the last one used, as nothing was reset.
        const before = lo.isEarly ? (bucket.lo?.used ?? 0n) : lo.used;
        const greatest = most(missing, most(lo.used, before));
        const isKnown = lo.used === hi.used && !hi.paused && !hi.isEarly;
        const least = isKnown ? hi.used : terms.capacity - hi.value;
        const used = this.#scale.units(usage.used);
        const isRight = least - terms.perToken < used && used < greatest + terms.perToken;
        return isRight && this.#scale.units(usage.of) === terms.capacity ? [state] : [];
      },
      setting,
    );
  }

  #plans(): (string | undefined)[] {
    const { plans } = this.definition;
    return plans ? Object.keys(plans) : [undefined];
  }
  configOf(plan: string | undefined): Config {
    const { plans, ...shared } = this.definition;
    return { ...shared, ...(plan === undefined ? {} : plans?.[plan]) };
  }

  /** What is known of a call: the terms that hold now, and from the end of an override on. */
  #setting({ key, plan, count }: Call, withinMs?: number): twin.Setting {
    const { now, writesMatter } = this;
    const config = this.configOf(plan);
    const own = { from: now, terms: this.#scale.terms(config) };
    const demand = { units: this.#scale.units(count), withinMs };
    const known = { now, id: ++this.#ids, demand, writesMatter };
    const override = this.#overrides.get(key);
    const { until = Infinity } = override ?? {};
    if (!override || until <= now) return { ...known, stretches: [own] };
    const first = { ...own, ...overriding(override, config, this.#scale) };
    return { ...known, stretches: until === Infinity ? [first] : [first, { ...own, from: until }] };
  }

  #count(key: string, { stretches }: twin.Setting): void {
    const id = stretches[0]?.terms.id ?? "";
    const cases = this.#cases.get(key) ?? [twin.UNTOUCHED];
    this.tally.answers++;
    if (cases.every(({ buckets }) => isExact(buckets.get(id)))) this.tally.exact++;
  }

  #advance(key: string, reply: unknown, next: (state: twin.Case) => twin.Case[], setting?: twin.Setting): void {
    const before = this.#cases.get(key) ?? [twin.UNTOUCHED];
    const after = before.flatMap(next);
    this.#note("  →", reply);
    if (after.length === 0) {
      const expected = before.map((state) => told(state, setting));
      throw new Error(["A wrong answer. Expected:", ...expected, ...this.log].join("\n"));
    }
    this.#cases.set(key, distinct(after));
  }
  #note(what: string, value: unknown): void {
    const text = JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part));
    this.log.push(`${String(this.now - T0).padStart(8)}  ${what} ${text.replaceAll(/180\d{10}/g, relative)}`);
  }
}

/** Times from the beginning, since they are shorter. */
function relative(time: string): string {
  return `T+${Number(time) - T0}`;
}

function overriding(
  override: Override,
  config: Config,
  scale: Scale,
): Pick<twin.Stretch, "way"> | Omit<twin.Stretch, "from"> {
  if ("config" in override) return { terms: scale.terms(override.config), way: "config" };
  if ("more" in override) return { terms: scale.terms(raised(config, override.more)), way: "config" };
  return { way: "unlimited" in override ? "unlimited" : "block" };
}
/** `more` is added to the plan or config in force. */
function raised(config: Config, more: number): Config {
  const { rate, capacity = rate, kind } = config;
  return { ...config, rate: rate + more, ...(kind !== "sliding window" && { capacity: capacity + more }) };
}

function distinct(cases: readonly twin.Case[]): readonly twin.Case[] {
  if (cases.length === 1) return cases;
  const byText = new Map(cases.map((state) => [textOf(state), state]));
  return [...byText.values()].slice(0, MOST_CASES);
}
/** Two cases differ if they hold something else, or if what happened says that something else comes back of a take. */
function textOf({ buckets, ...others }: twin.Case): string {
  const parts = [...buckets].map(([id, { lo, hi, seen, events }]) => [
    ...[id, lo, hi, seen],
    ...events.flatMap(({ type, ...event }) =>
      type === "touch" ? [] : [type, event.at, "units" in event && event.units],
    ),
  ]);
  return JSON.stringify([parts, others], (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

/** What the twin expected, for the message of a failure. */
function told(state: twin.Case, setting: twin.Setting | undefined): string {
  const perToken = setting?.stretches[0]?.terms.perToken ?? 1n;
  const tokens = (units: bigint) => Number((units * 1000n) / perToken) / 1000;
  const time = (at: number) => (at === NEVER ? "never" : `T+${at - T0}`);
  const buckets = [...state.buckets].flatMap(([id, bucket]) =>
    (["lo", "hi"] as const).map((side) => {
      const stored = bucket[side];
      if (!stored) return `${id} ${side}: full`;
      const log = stored.log.map(({ at, units }) => `${tokens(units)}@${at - T0}`).join(" ");
      const window = `${tokens(stored.used)} used since ${time(stored.since)}`;
      return `${id} ${side}: ${tokens(stored.value)} at ${time(stored.ts)}; ${id.startsWith("sliding") ? log : window}`;
    }),
  );
  const waits = setting && (["hi", "lo"] as const).map((side) => time(twin.whenServed(state, setting, side)));
  return [
    ...buckets,
    `paused ${state.pauses.map(({ until }) => time(until)).join()}; denied, it is served from ${waits?.join(" to ") ?? "?"}`,
  ].join("\n");
}
