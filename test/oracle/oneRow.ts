/** A random player of limits on one row, through the public functions; each answer is judged by the exact twin. */
import { type Asked, canAddMore, type Definition, Driver, type Job, type Override, type Status } from "./adapter.js";
import { NEVER } from "./bucket.js";
import { Database } from "./database.js";
import { Dice, drawConfig, drawFamily, type Family, periodMs, PERIODS, T0 } from "./draw.js";
import { isExact } from "./history.js";
import { type Config, Scale } from "./terms.js";
import * as twin from "./twin.js";

/** What may happen in a world. */
export interface Mode {
  /** One config; plans that share a bucket; plans of several kinds and periods. */
  readonly plans: "one" | "alike" | "several";
  readonly kind?: Config["kind"];
  readonly reserve?: boolean;
  readonly refund?: boolean;
  /** Refunds at any date, of what nobody took, or twice. */
  readonly dishonest?: boolean;
  readonly charge?: boolean;
  readonly pause?: boolean;
  readonly reset?: boolean;
  readonly override?: boolean;
  readonly deploy?: boolean;
  readonly moveWindows?: boolean;
  readonly clock?: boolean;
  /** No two events share a millisecond. */
  readonly apart?: boolean;
}

interface Ticket extends twin.Ticket {
  readonly key: string;
  readonly plan: string | undefined;
  readonly count: number;
  readonly date: number;
  readonly job?: Job;
}
interface Tally {
  moves: number;
  answers: number;
  exact: number;
}
type Move = "take" | "reserve" | "check" | "charge" | "gift" | "refund" | "dishonest" | "schedule" | "cancel";
type Act = Move | "pause" | "reset" | "override" | "clear" | "deploy";

const NAME = "a";
const KEYS = ["k", "l"];
const scale = new Scale(PERIODS);

export class World {
  readonly log: string[] = [];
  readonly tally: Tally = { moves: 0, answers: 0, exact: 0 };
  readonly #dice: Dice;
  readonly #database = new Database();
  readonly #family: Family;
  readonly #families: readonly Family[];
  #definition: Definition;
  #driver: Driver;
  #now = T0;
  #ids = 0;
  #lastRetry = T0;
  #tickets: Ticket[] = [];
  readonly #cases = new Map<string, readonly twin.Case[]>();
  readonly #overrides = new Map<string, Override>();

  constructor(
    seed: number,
    readonly mode: Mode,
    private readonly clock: { now: number },
  ) {
    const dice = new Dice(seed);
    this.#dice = dice;
    this.#family = drawFamily(dice, mode.kind);
    const others = Array.from({ length: 2 }, () => drawFamily(dice));
    this.#families = mode.plans === "several" ? [this.#family, ...others] : [this.#family];
    this.#definition = this.#drawDefinition();
    this.#driver = this.#deployed();
  }

  #drawDefinition(): Definition {
    const { plans, moveWindows = false } = this.mode;
    const dice = this.#dice;
    if (plans === "one") return drawConfig(dice, this.#family, moveWindows);
    const names = ["free", "pro", "team"].slice(0, plans === "alike" ? dice.from(2, 3) : 3);
    const configs = names.map((name, i) => {
      const family = this.#families[plans === "alike" ? 0 : i] as Family;
      return [name, drawConfig(dice, family, moveWindows)] as const;
    });
    return { plans: Object.fromEntries(configs) } as unknown as Definition;
  }
  #deployed(): Driver {
    this.#note(`deploy ${JSON.stringify(this.#definition)}`);
    return new Driver(this.#database, { [NAME]: this.#definition });
  }
  #note(text: string): void {
    this.log.push(`${String(this.#now - T0).padStart(8)}  ${text}`);
  }

  async play(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      this.#passTime();
      await this.#act(this.#dice.weighted<Act>(this.#weights()));
      this.tally.moves++;
    }
  }

  #weights(): Partial<Record<Act, number>> {
    const { reserve, refund, dishonest, charge, pause, reset, override, deploy } = this.mode;
    return {
      take: 10,
      check: 2,
      ...(reserve && { reserve: 3, schedule: 2, cancel: 2 }),
      ...(refund && { refund: 4 }),
      ...(dishonest && { dishonest: 2 }),
      ...(charge && { charge: 1, gift: process.env["NOGIFT"] ? 0 : 1 }),
      ...(pause && { pause: 0.6 }),
      ...(reset && { reset: 0.4 }),
      ...(override && { override: 0.8, clear: 0.3 }),
      ...(deploy && { deploy: 0.4 }),
    };
  }

  #passTime(): void {
    const dice = this.#dice;
    const period = periodMs(this.#family);
    if (this.mode.apart) this.#now++;
    const step = dice.weighted({ none: 3, one: 2, part: 6, period: 1, rest: 0.4, retry: 3, before: 1, back: this.mode.clock ? 0.7 : 0 });
    const jump = { none: 0, one: 1, part: 1 + dice.int(period / 3), period, rest: 3 * period + dice.int(period) };
    if (step === "retry" || step === "before") {
      const time = step === "retry" ? this.#lastRetry : this.#lastRetry - 1;
      if (time > this.#now && time < this.#now + 40 * period) this.#now = time;
    } else if (step === "back") this.#now -= dice.int(period / 2);
    else this.#now += jump[step];
    this.clock.now = this.#now;
  }

  async #act(act: Act): Promise<void> {
    const dice = this.#dice;
    const key = dice.pick(KEYS);
    const place = { name: NAME, key };
    switch (act) {
      case "take":
      case "check":
      case "reserve":
        return await this.#ask(act, key);
      case "schedule":
        return await this.#schedule(key);
      case "charge":
      case "gift":
        return await this.#adjust(act, key);
      case "refund":
      case "dishonest":
        return await this.#refund(act === "refund", key);
      case "cancel":
        return await this.#cancel();
      case "pause": {
        const until = this.#now + dice.pick([1, 10, 0]) + dice.int(2 * periodMs(this.#family));
        this.#note(`pause ${key} until ${until - T0}`);
        await this.#driver.pause({ ...place, plan: this.#drawPlan(), until });
        return this.#advance(key, (state) => [twin.afterPause(state, until, this.#now)], "done");
      }
      case "reset":
        this.#note(`reset ${key}`);
        await this.#driver.reset(place);
        return this.#advance(key, () => [twin.UNTOUCHED], "done");
      case "override":
        return await this.#override(key);
      case "clear":
        this.#note(`clear ${key}`);
        await this.#driver.clearOverride(place);
        this.#overrides.delete(key);
        return;
      case "deploy":
        this.#definition = this.#drawDefinition();
        this.#driver = this.#deployed();
    }
  }

  async #ask(act: "take" | "check" | "reserve", key: string): Promise<void> {
    const dice = this.#dice;
    const plan = this.#drawPlan();
    const count = this.#drawCount(plan);
    const isReserving = act === "reserve" || (act === "check" && this.mode.reserve === true && dice.chance(0.3));
    const within = dice.chance(0.5) ? dice.int(3 * periodMs(this.#family)) : undefined;
    const refundable = act !== "check" && (this.mode.refund ?? false) && dice.chance(0.7);
    const asked: Asked = {
      name: NAME,
      key,
      plan,
      count,
      reserve: isReserving ? (within === undefined ? true : { within }) : undefined,
      refundable: refundable ? true : undefined,
    };
    const setting = this.#setting(key, plan, count, isReserving ? (within ?? Infinity) : undefined);
    this.#note(`${act} ${JSON.stringify(asked)}`);
    const status = await (act === "check" ? this.#driver.check(asked) : this.#driver.take(asked));
    this.#count(key, setting);
    this.#advance(key, (state) => twin.afterAsk(state, setting, status, act === "check"), status, setting);
    this.#lastRetry = status.retryAt ?? this.#lastRetry;
    if (status.ok && refundable && status.takenAt !== undefined) this.#keep(key, plan, setting, status);
  }

  #keep(key: string, plan: string | undefined, setting: twin.Setting, status: Status, job?: Job, count?: number): void {
    const [{ terms }] = setting.stretches as [twin.Stretch];
    const { id, demand } = setting;
    const isWaiting = terms.kind === "sliding window" && status.retryAt !== undefined;
    const date = (isWaiting ? status.retryAt : status.takenAt) ?? this.#now;
    const held = { key, plan, id, bucket: terms.id, units: demand.units, date, ...(job && { job }) };
    this.#tickets.push({ ...held, count: count ?? scale.tokens(demand.units * 1000n) / 1000 });
  }

  async #schedule(key: string): Promise<void> {
    const plan = this.#drawPlan();
    const count = this.#drawCount(plan);
    const setting = this.#setting(key, plan, count, FIVE_YEARS);
    this.#note(`schedule ${key} ${String(plan)} ${count}`);
    const scheduled = await this.#driver.schedule({ name: NAME, key, plan, count });
    const { ok, retryAt, runAt, job } = scheduled;
    const waits = ok ? (runAt !== this.#now ? { retryAt: runAt } : {}) : { retryAt };
    // A schedule does not say that the key is blocked.
    const isBlocked = !ok && setting.stretches[0]?.way === "block";
    const reason = isBlocked ? "blocked" : (scheduled as { reason?: string }).reason;
    const status = { ok, ...(waits as { retryAt?: number }), ...(reason !== undefined && { reason }) };
    this.#advance(key, (state) => twin.afterAsk(state, setting, status, false), { ...status, job }, setting);
    if (job) this.#keep(key, plan, setting, status, job, count);
  }

  async #adjust(act: "charge" | "gift", key: string): Promise<void> {
    const plan = this.#drawPlan();
    const count = this.#drawCount(plan);
    const setting = this.#setting(key, plan, count);
    this.#note(`${act} ${key} ${String(plan)} ${count}`);
    const status = await this.#driver.adjust({ name: NAME, key, plan, count: act === "gift" ? -count : count });
    const judge = act === "gift" ? twin.afterGift : twin.afterCharge;
    this.#advance(key, (state) => judge(state, setting, status), status, setting);
  }

  async #refund(isHonest: boolean, someKey: string): Promise<void> {
    const dice = this.#dice;
    const period = periodMs(this.#family);
    const open = this.#tickets.filter(({ job }) => !job);
    if (isHonest && open.length === 0) return;
    const ticket = isHonest ? dice.pick(open) : undefined;
    if (ticket) this.#tickets = this.#tickets.filter((other) => other !== ticket);
    const { key = someKey, plan = this.#drawPlan() } = ticket ?? {};
    const count = ticket?.count ?? this.#drawCount(plan);
    const date = ticket?.date ?? Math.max(1, this.#now + dice.pick(PAST ? [-1, -dice.int(period), -dice.int(period)] : [0, 1, period, -1, -dice.int(period), -dice.int(period)]));
    const setting = this.#setting(key, plan, count);
    this.#note(`refund ${key} ${String(plan)} ${count} of ${date - T0}${isHonest ? "" : ", dishonest"}`);
    const status = await this.#driver.adjust({ name: NAME, key, plan, count: -count, takenAt: date });
    this.#advance(key, (state) => twin.afterRefund(state, setting, { ticket, date }, status), status, setting);
  }

  async #cancel(): Promise<void> {
    const jobs = this.#tickets.filter(({ job }) => job);
    if (jobs.length === 0) return;
    const ticket = this.#dice.pick(jobs);
    const { key, job, count, date } = ticket as Ticket & { job: Job };
    this.#tickets = this.#tickets.filter((other) => other !== ticket);
    if (this.#dice.chance(0.2)) this.#database.begin(job.id);
    this.#note(`cancel ${key} ${JSON.stringify(job)}`);
    const { canceled } = await this.#driver.cancel(job);
    if (!canceled) return;
    // It may follow the terms of any plan.
    const settings = this.#plans().map((plan) => this.#setting(key, plan, count));
    const isAlike = (other: twin.Setting, i: number) =>
      settings.findIndex(({ stretches: [a] }) => a?.terms.id === other.stretches[0]?.terms.id && a?.terms.capacity === other.stretches[0]?.terms.capacity) === i;
    this.#advance(
      key,
      (state) => settings.filter(isAlike).flatMap((setting) => twin.afterRefund(state, setting, { ticket, date })),
      "canceled",
    );
  }

  async #override(key: string): Promise<void> {
    const dice = this.#dice;
    const until = dice.chance(0.8) ? this.#now + 1 + dice.int(2 * periodMs(this.#family)) : undefined;
    const config = () => ({ config: drawConfig(dice, dice.pick(this.#families)) });
    const way = dice.weighted({ config: 3, block: 1, unlimited: 1, more: canAddMore ? 2 : 0 });
    const override = { config, block: () => ({ block: true }), unlimited: () => ({ unlimited: true }), more: () => ({ more: dice.from(1, 10) }) }[way]();
    const whole = { ...override, until } as Override;
    this.#note(`override ${key} ${JSON.stringify(whole)}`);
    await this.#driver.override({ name: NAME, key }, whole);
    this.#overrides.set(key, whole);
  }

  #plans(): (string | undefined)[] {
    return this.#definition.plans ? Object.keys(this.#definition.plans) : [undefined];
  }
  #drawPlan(): string | undefined {
    return this.#dice.pick(this.#plans());
  }
  #configOf(plan: string | undefined): Config {
    const { plans, ...shared } = this.#definition;
    return { ...shared, ...(plan === undefined ? {} : plans?.[plan]) } as Config;
  }
  #drawCount(plan: string | undefined): number {
    const dice = this.#dice;
    const { rate, capacity = rate } = this.#configOf(plan);
    const most = Math.max(1, Math.min(capacity, 12));
    return dice.weighted({ one: 4, some: 4, all: 1, fraction: 1, more: 0.4 }) === "one"
      ? 1
      : dice.pick([dice.from(1, most), dice.from(1, most), dice.from(1, most), capacity, 0.5 + dice.int(most), capacity + dice.from(1, 5)]);
  }

  /** What is known of a call: the terms that hold now, and from the end of an override on. */
  #setting(key: string, plan: string | undefined, count: number, withinMs?: number): twin.Setting {
    const now = this.#now;
    const config = this.#configOf(plan);
    const own = { from: now, terms: scale.terms(config) };
    const override = this.#overrides.get(key);
    const { until = Infinity } = override ?? {};
    const demand = { units: scale.units(count), withinMs };
    const id = ++this.#ids;
    const { plans, override: overrides, deploy, dishonest, clock } = this.mode;
    const writesMatter = plans !== "one" || [overrides, deploy, dishonest, clock].includes(true);
    const known = { now, id, demand, writesMatter };
    if (!override || until <= now) return { ...known, stretches: [own] };
    const first: twin.Stretch =
      "config" in override
        ? { from: now, terms: scale.terms(override.config), way: "config" }
        : "more" in override
          ? { from: now, terms: scale.terms(raised(config, override.more)), way: "config" }
          : { ...own, way: "unlimited" in override ? "unlimited" : "block" };
    return { ...known, stretches: until === Infinity ? [first] : [first, { ...own, from: until }] };
  }

  #count(key: string, { stretches }: twin.Setting): void {
    this.tally.answers++;
    const [first] = stretches;
    const cases = this.#cases.get(key) ?? [twin.UNTOUCHED];
    const isKnown = cases.every(({ buckets }) => {
      const bucket = buckets.get(first?.terms.id ?? "");
      return !bucket || isExact(bucket);
    });
    if (isKnown) this.tally.exact++;
  }

  #advance(key: string, next: (state: twin.Case) => twin.Case[], reply: unknown, setting?: twin.Setting): void {
    const before = this.#cases.get(key) ?? [twin.UNTOUCHED];
    const after = before.flatMap(next);
    this.#note(`    → ${JSON.stringify(reply)}`);
    if (after.length === 0) throw new Error(`A wrong answer.\n${this.log.join("\n")}\n${told(before, setting)}`);
    this.#cases.set(key, distinct(after));
    if (process.env["TRACE"]) this.#note(told(distinct(after), setting));
  }
}

const PAST = process.env["PAST"];
const FIVE_YEARS = 5 * 366 * 86_400_000;
const MOST_CASES = 24;

function raised(config: Config, more: number): Config {
  const { rate, capacity = rate, kind } = config;
  return { ...config, rate: rate + more, ...(kind !== "sliding window" && { capacity: capacity + more }) };
}

function distinct(cases: readonly twin.Case[]): readonly twin.Case[] {
  if (cases.length === 1) return cases;
  const byText = new Map(cases.map((state) => [textOf(state), state]));
  return [...byText.values()].slice(0, MOST_CASES);
}
function textOf({ buckets, pauses }: twin.Case): string {
  const parts = [...buckets].map(([id, { lo, hi, seen }]) => [id, lo, hi, seen]);
  return JSON.stringify([parts, pauses], (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

/** What the twin expected, for the message of a failure. */
function told(cases: readonly twin.Case[], setting: twin.Setting | undefined): string {
  if (!setting) return "";
  const tokens = (units: bigint) => Number((units * 1000n) / scale.perToken) / 1000;
  return cases
    .map((state) => {
      const lines = [...state.buckets].map(([id, { lo, hi }]) => {
        const side = (stored: typeof lo) =>
          stored ? `${tokens(stored.value)} at ${stored.ts - T0}, used ${tokens(stored.used)} since ${stored.since - T0}, log ${stored.log.map(({ at, units }) => `${tokens(units)}@${at - T0}`).join(" ")}` : "full";
        return `  ${id}: lo ${side(lo)}; hi ${side(hi)}`;
      });
      const waits = (["hi", "lo"] as const).map((side) => {
        const time = twin.whenServed(state, setting, side);
        return time === NEVER ? "never" : String(time - T0);
      });
      return [`expected at ${setting.now - T0}: served from ${waits.join(" to ")}; paused ${state.pauses.map((time) => time - T0).join()}`, ...lines].join("\n");
    })
    .join("\n");
}
