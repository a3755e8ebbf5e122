/**
 * A random player of a bucket on several rows. Which row a call meets is chance, so answers are judged by the laws and not by an exact
 * value. Freedoms, each judged by the law that is left:
 * - `remaining`, and which row is short: not judged. `retryAt` must suffice on the rows that told it (law 2).
 * - Reservations start in whole milliseconds: an interval counts as 1 ms longer.
 * - A fixed window that owes reservations may start up to a capacity more (design R5, hot-limits.md); the total is exact.
 * - Reservations that keep their times after a cancel, a gift or a raised rate may start beside what came back: the total is exact.
 * - Clocks that disagree by d: an interval counts as d longer. Fixed windows are then not judged.
 */
import { type Asked, type Definition, Driver, type Job, type Place, type Status } from "./adapter.js";
import { NEVER } from "./bucket.js";
import { FakeDb } from "../support/fakeDb.js";
import { Dice } from "./draw.js";
import { type Grant, Ledger } from "./ledger.js";
import { type Config, Scale, T0, type Terms } from "./terms.js";

type Asking = "take" | "reserve" | "schedule" | "cancel" | "refund";
type Act = Asking | "charge" | "gift" | "pause" | "reset" | "override" | "clear" | "deploy";
/** What happens in a world besides plain calls. */
export type RowsMode = Readonly<Partial<Record<Act | "plans" | "unlimited" | "clock", boolean>>>;

type Call = Place & { readonly count: number };
interface Ticket {
  readonly grant: Grant;
  readonly count: number;
  readonly plan: string | undefined;
  readonly takenAt?: number | undefined;
  readonly job?: Job;
}

const NAME = "a";
const PLACE = { name: NAME, key: "k" };
const scale = new Scale();
/** More than any bucket of these worlds holds. */
const MOST = 10n ** 30n;

export class RowsWorld {
  readonly log: string[] = [];
  readonly #dice: Dice;
  readonly #random: Dice;
  readonly #database = new FakeDb();
  readonly #base: Config;
  #definition: Definition;
  #driver: Driver;
  /** The largest of all terms that held since the last reset. */
  #most: Terms;
  #ledger: Ledger;
  #tickets: Ticket[] = [];
  #now = T0;
  /** What the clock of the next call is ahead of the time. */
  #ahead = 0;
  #pausedUntil = 0;
  #isUnlimited = false;
  #overriding: Terms | undefined;
  #drawn: number[] = [];
  #charged = 0;
  /** Tokens that came back beside reservations that kept their times. */
  #returned = 0n;

  constructor(
    seed: number,
    private readonly mode: RowsMode,
    readonly rows: number,
    private readonly world: { now: number; random: () => number },
  ) {
    const dice = new Dice(seed);
    this.#dice = dice;
    this.#random = new Dice(seed + 0.5 * 2 ** 31);
    const kind = dice.pick(["token bucket", "token bucket", "fixed window", "sliding window"] as const);
    const period = dice.pick([100, 1000, 60_000]);
    const capacity = rows * dice.from(2, 6) + dice.int(3);
    const maxReserved = dice.chance(0.5) ? {} : { maxReserved: rows * dice.from(1, 8) };
    this.#base = {
      kind,
      rate: kind === "token bucket" ? dice.from(1, 2 * capacity) : capacity,
      period,
      ...(kind === "token bucket" && { capacity }),
      ...(kind === "fixed window" && { start: T0 - dice.int(100_000) }),
      ...(kind === "fixed window" && dice.chance(0.3) && { capacity: capacity + dice.int(capacity) }),
      ...maxReserved,
    };
    this.#definition = this.#drawDefinition();
    this.#driver = this.#deployed();
    this.#most = this.#largest();
    this.#ledger = new Ledger(T0);
    world.random = () => {
      const drawn = this.#random.next();
      this.#drawn.push(drawn);
      return drawn;
    };
  }

  #drawConfig(): Config {
    const dice = this.#dice;
    const { rate, capacity } = this.#base;
    // A tenth permits fewer rows than there are.
    const factor = dice.pick([0.1, 0.5, 1, 1, 2, 3]);
    const scaled = (tokens: number) => Math.max(1, Math.round(tokens * factor));
    const config = { ...this.#base, rate: scaled(rate) };
    return capacity === undefined
      ? config
      : { ...config, capacity: Math.max(scaled(capacity), this.#base.kind === "fixed window" ? scaled(rate) : 0) };
  }
  #drawDefinition(): Definition {
    const shards = { atLeast: this.rows, atMost: this.rows };
    if (!this.mode.plans) return { ...(this.mode.deploy ? this.#drawConfig() : this.#base), shards };
    const plans = Object.fromEntries(["free", "pro"].map((name) => [name, this.#drawConfig()]));
    return { plans, shards } as unknown as Definition;
  }
  #deployed(): Driver {
    this.#note(`deploy ${JSON.stringify(this.#definition)}`);
    return new Driver(this.#database, { [NAME]: this.#definition });
  }
  #configs(): Config[] {
    const { plans, ...shared } = this.#definition;
    return plans ? Object.values(plans).map((plan) => ({ ...shared, ...plan })) : [shared];
  }
  #configOf(plan: string | undefined): Config {
    const { plans, ...shared } = this.#definition;
    return { ...shared, ...(plan === undefined ? {} : plans?.[plan]) };
  }
  #largest(): Terms {
    return this.#configs()
      .map((config) => scale.terms(config))
      .reduce(larger);
  }
  #drawPlan(): string | undefined {
    const { plans } = this.#definition;
    return plans ? this.#dice.pick(Object.keys(plans)) : undefined;
  }
  #note(text: string): void {
    this.log.push(`${String(this.#now - T0).padStart(7)}  ${text}`);
  }
  #fail(problem: string): never {
    throw new Error(`${problem}\n${this.log.join("\n")}`);
  }

  async play(steps: number): Promise<void> {
    const dice = this.#dice;
    for (let step = 0; step < steps; step++) {
      const period = this.#base.period as number;
      this.#now +=
        dice.weighted({ none: 6, one: 3, some: 3, part: 1, period: 0.3 }) === "none"
          ? 0
          : dice.pick([1, 1, dice.int(10), dice.int(period / 4), dice.chance(0.2) ? period : 1]);
      this.#ahead = this.mode.clock ? dice.int(CLOCKS_MS + 1) : 0;
      this.world.now = this.#now + this.#ahead;
      await this.#act(dice.weighted<Act>(this.#weights()));
    }
    this.#judge();
    await this.#rest();
  }

  #weights(): Partial<Record<Act, number>> {
    const { reserve, cancel, refund, charge, gift, pause, reset, override, unlimited, deploy } = this.mode;
    return {
      take: 14,
      ...(reserve && { reserve: 5, schedule: 3 }),
      ...(cancel && { cancel: 3 }),
      ...(refund && { refund: 5 }),
      ...(charge && { charge: 1.5 }),
      ...(gift && { gift: 0.7 }),
      ...(pause && { pause: 0.4 }),
      ...(reset && { reset: 0.3 }),
      ...((override ?? unlimited) && { override: 0.5, clear: 0.3 }),
      ...(deploy && { deploy: 0.3 }),
    };
  }

  async #act(act: Act): Promise<void> {
    const plan = this.#drawPlan();
    const call = { ...PLACE, plan, count: this.#drawCount(plan) };
    const refundable = this.mode.refund ? true : undefined;
    const acts: Readonly<Record<Act, () => Promise<void>>> = {
      take: () => this.#ask({ ...call, refundable }),
      reserve: () => this.#ask({ ...call, reserve: true, refundable }),
      schedule: () => this.#schedule(call),
      cancel: () => this.#cancel(),
      refund: () => this.#refund(),
      charge: () => this.#charge(call),
      gift: () => this.#gift(call),
      pause: () => this.#pause(plan),
      reset: () => this.#reset(),
      override: () => this.#override(),
      clear: () => this.#clear(),
      deploy: () => this.#deploy(),
    };
    await acts[act]();
  }

  async #charge(call: Call): Promise<void> {
    this.#note(`charge ${call.count}`);
    this.#charged += call.count;
    await this.#driver.adjust(call);
  }
  async #gift({ count, ...call }: Call): Promise<void> {
    this.#note(`gift ${count}`);
    await this.#driver.adjust({ ...call, count: -count });
    this.#ledger.gift(this.#now, scale.units(count));
    this.#returned += scale.units(count);
  }
  async #pause(plan: string | undefined): Promise<void> {
    const until = this.#drawEnd();
    this.#note(`pause until ${until - T0}`);
    await this.#driver.pause({ ...PLACE, plan, until });
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }
  async #override(): Promise<void> {
    const until = this.#drawEnd();
    const isUnlimited = this.mode.unlimited === true && (!this.mode.override || this.#dice.chance(0.5));
    const config = this.#drawConfig();
    this.#note(`override ${isUnlimited ? "unlimited" : JSON.stringify(config)}`);
    const ends = this.#dice.chance(0.5) && { until };
    await this.#driver.override(PLACE, isUnlimited ? { unlimited: true } : { config, ...ends });
    this.#isUnlimited = isUnlimited;
    this.#overriding = isUnlimited ? undefined : scale.terms(config);
    if (this.#overriding) this.#most = larger(this.#most, this.#overriding);
  }
  #drawEnd(): number {
    return this.#now + 1 + this.#dice.int(this.#base.period as number);
  }
  async #clear(): Promise<void> {
    this.#note("clear");
    this.#isUnlimited = false;
    this.#overriding = undefined;
    await this.#driver.clearOverride(PLACE);
  }
  async #deploy(): Promise<void> {
    this.#definition = this.#drawDefinition();
    this.#driver = this.#deployed();
    this.#most = larger(this.#most, this.#largest());
    await Promise.resolve();
  }

  #capacityOf(plan: string | undefined): number {
    const { rate, capacity = rate } = this.#configOf(plan);
    return capacity;
  }
  #drawCount(plan: string | undefined): number {
    const dice = this.#dice;
    const capacity = this.#capacityOf(plan);
    const share = Math.max(1, Math.floor(capacity / this.rows));
    const upTo = (most: number) => dice.from(1, most);
    return dice.pick([1, 1, 1, 2, upTo(share), upTo(share), upTo(2 * share), dice.chance(0.2) ? upTo(capacity) : 1]);
  }

  async #ask(asked: Asked): Promise<void> {
    this.#note(`take ${JSON.stringify(asked)}`);
    this.#drawn = [];
    const status = await this.#driver.take(asked);
    this.#note(`    → ${JSON.stringify(status)}`);
    const drawn = this.#drawn;
    const held = Math.min(this.#capacityOf(asked.plan), scale.tokens(this.#overriding?.capacity ?? MOST));
    if (!status.ok && asked.count <= held && (status.retryAt ?? NEVER) >= NEVER)
      this.#fail("A count that the bucket can hold is denied for ever.");
    if (status.ok) this.#granted(asked, status);
    else if (this.#dice.chance(0.3)) await this.#retry(asked, status, drawn);
  }

  #granted({ count, plan }: Asked, { retryAt, takenAt }: Status, job?: Job): void {
    const now = this.#now;
    const start = Math.max(now, retryAt ?? now);
    if (start < this.#pausedUntil && !this.#isUnlimited && now + this.#ahead < this.#pausedUntil) {
      this.#fail(`It starts at ${start - T0}, in a pause until ${this.#pausedUntil - T0}.`);
    }
    // Work of an unlimited key counts against nothing, but what it takes is owed.
    const grant = this.#isUnlimited ? { start, units: 0n } : this.#ledger.grant(start, scale.units(count));
    if (this.#isUnlimited) this.#charged += count;
    this.#tickets.push({ grant, count, plan, takenAt, ...(job && { job }) });
  }

  /** Law 2: at `retryAt` the same call is served by the rows that told it, if nobody else comes. */
  async #retry(asked: Asked, { retryAt = NEVER }: Status, drawn: readonly number[]) {
    if (retryAt >= NEVER || this.mode.clock) return;
    const { now, random } = this.world;
    const again = [...drawn];
    this.world.now = retryAt;
    this.world.random = () => again.shift() ?? random();
    const status = await this.#driver.tried(asked);
    this.world.random = random;
    this.world.now = now;
    if (!status.ok) this.#fail(`It is denied again at its retryAt, ${retryAt - T0}: ${JSON.stringify(status)}.`);
  }

  async #schedule(call: Call): Promise<void> {
    this.#note(`schedule ${call.count}`);
    const { ok, runAt, job } = await this.#driver.schedule(call);
    this.#note(`    → ${ok ? String((runAt ?? 0) - T0) : "denied"}`);
    if (!ok || runAt === undefined || !job) return;
    this.#granted(call, { ok, retryAt: runAt, takenAt: job.takenAt ?? this.#now }, job);
  }

  /** A job that has not started is cancelled. */
  async #cancel(): Promise<void> {
    const waiting = this.#tickets.filter(({ job, grant }) => job && grant.start > this.#now);
    if (waiting.length === 0) return;
    const ticket = this.#dice.pick(waiting);
    this.#tickets = this.#tickets.filter((other) => other !== ticket);
    this.#note(`cancel ${ticket.count} of ${ticket.grant.start - T0}`);
    const { canceled } = await this.#driver.cancel(ticket.job);
    if (!canceled) this.#fail("A job that waits is cancelled.");
    this.#returned += ticket.grant.units;
    ticket.grant.units = 0n;
  }

  /** What has started comes back: it had never been taken. */
  async #refund(): Promise<void> {
    const open = this.#tickets.filter(
      ({ job, takenAt, grant }) => !job && takenAt !== undefined && grant.start <= this.#now,
    );
    if (open.length === 0) return;
    const ticket = this.#dice.pick(open);
    const { count, plan, takenAt, grant } = ticket;
    this.#tickets = this.#tickets.filter((other) => other !== ticket);
    this.#note(`refund ${count} of ${(takenAt ?? 0) - T0}`);
    await this.#driver.adjust({ ...PLACE, plan, count: -count, takenAt });
    if (this.mode.reserve) this.#returned += grant.units;
    grant.units = 0n;
  }

  /** Law 7: a bucket that was reset answers as one that was never used. Jobs from before give nothing back. */
  async #reset(): Promise<void> {
    this.#judge();
    this.#note("reset");
    await this.#driver.reset(PLACE);
    this.#ledger = new Ledger(this.#now);
    this.#pausedUntil = 0;
    this.#most = this.#overriding ? larger(this.#largest(), this.#overriding) : this.#largest();
    this.#returned = 0n;
    this.#charged = 0;
    // Their tokens are those of no ledger: what comes back of them would be too much in the new one.
    this.#tickets = this.#tickets.map((ticket) => ({ ...ticket, grant: { start: ticket.grant.start, units: 0n } }));
    if (this.mode.override ?? this.mode.unlimited) return;
    const plan = this.#drawPlan();
    const { rate, capacity = rate } = this.#configOf(plan);
    const whole = await this.#driver.tried({ ...PLACE, plan, count: capacity });
    const fresh = await this.#driver.tried({ ...PLACE, key: "never used", plan, count: capacity });
    if (!whole.ok || !fresh.ok) this.#fail(`After a reset: ${JSON.stringify(whole)}; fresh: ${JSON.stringify(fresh)}.`);
  }

  #judge(): void {
    const { reserve = false, plans, override, deploy, clock } = this.mode;
    const most = this.#most;
    if (clock && most.kind === "fixed window") return;
    const isRaised = reserve && [plans, override, deploy].includes(true);
    // A debt is paid sooner under a raised rate: only the total is judged.
    const interval = isRaised
      ? 10n ** 30n
      : reserve
        ? this.#returned + (most.kind === "fixed window" ? most.capacity : 0n)
        : 0n;
    const isInMs = reserve && most.kind === "token bucket" ? 1 : 0;
    const problem = this.#ledger.problem(most, { interval, ms: isInMs + (clock ? CLOCKS_MS : 0) });
    if (problem) this.#fail(problem);
  }

  /** Nobody is stuck: after a rest one token is served, and after another the whole capacity. */
  async #rest(): Promise<void> {
    await this.#driver.clearOverride(PLACE);
    const plan = this.#drawPlan();
    const { rate, period, capacity = rate } = this.#configOf(plan);
    const last = Math.max(
      this.#now,
      this.#pausedUntil,
      ...this.#ledger.grants.map(({ start }) => start),
      ...this.#tickets.map(({ grant }) => grant.start),
    );
    const slowest = Math.min(rate, ...this.#configs().map((config) => config.rate));
    const restMs = Math.ceil(((this.rows * (this.#charged + 2 * capacity)) / slowest + 4) * (period as number));
    this.#now = last;
    for (const count of [1, capacity]) {
      this.#now += restMs;
      if (!(await this.#obey({ ...PLACE, plan, count }))) this.#fail(`Stuck: after a rest ${count} are not served.`);
    }
  }

  async #obey(asked: Asked): Promise<boolean> {
    for (let attempt = 0; attempt < 5; attempt++) {
      this.world.now = this.#now;
      const status = await this.#driver.take(asked);
      this.#note(`rested: ${JSON.stringify(asked)} → ${JSON.stringify(status)}`);
      if (status.ok) return true;
      this.#now = Math.max(this.#now, status.retryAt ?? this.#now);
      if (this.#now >= NEVER) return false;
    }
    return false;
  }
}

/** Clocks disagree by up to so much. */
const CLOCKS_MS = 20;

function larger(a: Terms, b: Terms): Terms {
  const most = (x: bigint, y: bigint) => (x > y ? x : y);
  return { ...a, rate: most(a.rate, b.rate), capacity: most(a.capacity, b.capacity), perMs: most(a.perMs, b.perMs) };
}

export const rowsModes: Readonly<Record<string, RowsMode>> = {
  "plain calls": {},
  "refunds by date": { refund: true },
  reservations: { reserve: true },
  "reservations and cancels": { reserve: true, cancel: true },
  "charges and gifts": { charge: true, gift: true },
  pauses: { pause: true, charge: true },
  "pauses and reservations": { pause: true, reserve: true, charge: true },
  resets: { reset: true, reserve: true, refund: true, cancel: true },
  plans: { plans: true },
  "plans and refunds": { plans: true, refund: true },
  overrides: { override: true, unlimited: true },
  deploys: { deploy: true, charge: true },
  "clocks that disagree": { clock: true, refund: true },
  "all of it": {
    ...{ reserve: true, cancel: true, refund: true, charge: true, gift: true, pause: true, reset: true },
    ...{ plans: true, override: true, unlimited: true, deploy: true },
  },
};
