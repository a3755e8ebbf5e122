/** Draws what happens next in a world of limits on one row. */
import type { Definition, Override } from "./adapter.js";
import { Dice, drawConfig, drawFamily, type Family, periodMs } from "./draw.js";
import type { Config } from "./terms.js";
import { type Call, type Move, World } from "./world.js";

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
  /** Windows get other zones, anchors and starts. */
  readonly moveWindows?: boolean;
  /** The clock steps back. */
  readonly clock?: boolean;
  /** No two events share a millisecond. */
  readonly apart?: boolean;
}
type Choice = "take" | "reserve" | "check" | "charge" | "gift" | "refund" | "dishonest" | "schedule" | "cancel";
type Operation = "pause" | "reset" | "override" | "clear" | "deploy" | "usage";

const KEYS = ["k", "l"];

export class Player {
  readonly world: World;
  readonly #dice: Dice;
  readonly #families: readonly Family[];

  constructor(
    seed: number,
    private readonly mode: Mode,
    clock: { now: number },
  ) {
    const dice = new Dice(seed);
    this.#dice = dice;
    const family = drawFamily(dice, mode.kind);
    const others = mode.plans === "several" ? [drawFamily(dice), drawFamily(dice)] : [];
    this.#families = [family, ...others];
    const { override, deploy, dishonest } = mode;
    const writesMatter = mode.plans !== "one" || [override, deploy, dishonest, mode.clock].includes(true);
    this.world = new World(this.#drawDefinition(), clock, writesMatter);
  }

  async play(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.world.make({ act: "wait", ms: this.#drawWait() });
      for (const move of this.#draw(this.#dice.weighted(this.#weights()))) await this.world.make(move);
    }
  }

  #weights(): Partial<Record<Choice | Operation, number>> {
    const { reserve, refund, dishonest, charge, pause, reset, override, deploy } = this.mode;
    return {
      take: 10,
      check: 2,
      usage: 1,
      ...(reserve && { reserve: 3, schedule: 2, cancel: 2 }),
      ...(refund && { refund: 4 }),
      ...(dishonest && { dishonest: 2 }),
      ...(charge && { charge: 1, gift: 1 }),
      ...(pause && { pause: 0.6 }),
      ...(reset && { reset: 0.4 }),
      ...(override && { override: 0.8, clear: 0.3 }),
      ...(deploy && { deploy: 0.4 }),
    };
  }

  #drawWait(): number {
    const dice = this.#dice;
    const { now, lastRetry } = this.world;
    const period = this.#period();
    const least = this.mode.apart ? 1 : 0;
    const toRetry = (ms: number) => {
      const wait = lastRetry - ms - now;
      return wait > least && wait < 40 * period ? wait : least;
    };
    const waits = {
      none: () => least,
      one: () => 1 + least,
      part: () => 1 + dice.int(period / 3),
      period: () => period,
      rest: () => 3 * period + dice.int(period),
      retry: () => toRetry(0),
      before: () => toRetry(1),
      back: () => -dice.int(period / 2),
    };
    const back = this.mode.clock ? 0.7 : 0;
    return waits[dice.weighted({ none: 3, one: 2, part: 6, period: 1, rest: 0.4, retry: 3, before: 1, back })]();
  }
  #period(): number {
    const [family] = this.#families as [Family];
    return periodMs(family);
  }

  #draw(choice: Choice | Operation): Move[] {
    const dice = this.#dice;
    const key = dice.pick(KEYS);
    const plan = this.#drawPlan();
    const count = this.#drawCount(plan);
    const call = { key, plan, count };
    const moves: Readonly<Record<Choice | Operation, () => Move[]>> = {
      take: () => [this.#drawAsk("take", call)],
      reserve: () => [this.#drawAsk("reserve", call)],
      check: () => [this.#drawAsk("check", call)],
      schedule: () => [{ act: "schedule", ...call }],
      charge: () => [{ act: "adjust", ...call }],
      gift: () => [{ act: "adjust", ...call, count: -count }],
      refund: () => this.#drawRefund(call),
      dishonest: () => [{ act: "refund", ...call, takenAt: this.#drawDate() }],
      cancel: () => this.#drawCancel(),
      pause: () => [{ act: "pause", key, plan, until: this.world.now + dice.pick([0, 1, 10]) + this.#drawLength() }],
      reset: () => [{ act: "reset", key }],
      override: () => [{ act: "override", key, override: this.#drawOverride() }],
      clear: () => [{ act: "clear", key }],
      deploy: () => [{ act: "deploy", definition: this.#drawDefinition() }],
      usage: () => [{ act: "usage", key, plan }],
    };
    return moves[choice]();
  }

  #drawAsk(choice: "take" | "reserve" | "check", call: Call): Move {
    const dice = this.#dice;
    const isCheck = choice === "check";
    const isReserving = choice === "reserve" || (isCheck && this.mode.reserve && dice.chance(0.3));
    const within = dice.chance(0.5) && { within: dice.int(3 * this.#period()) };
    const reserve = isReserving ? within || true : undefined;
    const refundable = !isCheck && this.mode.refund && dice.chance(0.7) ? true : undefined;
    return { act: isCheck ? "check" : "take", ...call, reserve, refundable };
  }

  #drawRefund(call: Call): Move[] {
    const open = this.world.tickets.filter(({ job }) => job === undefined);
    if (open.length === 0) return [];
    const ticket = this.#dice.pick(open);
    const { key, count, date } = ticket;
    // A deploy may have removed the plan.
    const plan = this.#plans().includes(ticket.plan) ? ticket.plan : call.plan;
    return [{ act: "refund", key, plan, count, takenAt: date, ticket }];
  }
  #drawDate(): number {
    const dice = this.#dice;
    const period = this.#period();
    return this.world.now + dice.pick([0, 1, period, -1, -dice.int(period), -dice.int(period)]);
  }
  #drawCancel(): Move[] {
    const open = this.world.tickets.filter(({ job }) => job !== undefined);
    if (open.length === 0) return [];
    const ticket = this.#dice.pick(open);
    return [...(this.#dice.chance(0.2) ? [{ act: "begin", ticket } as const] : []), { act: "cancel", ticket }];
  }
  #drawLength(): number {
    return this.#dice.int(2 * this.#period());
  }

  #drawOverride(): Override {
    const dice = this.#dice;
    const until = dice.chance(0.8) ? this.world.now + 1 + this.#drawLength() : undefined;
    const overrides: Readonly<Record<"config" | "block" | "unlimited" | "more", () => Override>> = {
      config: () => ({ config: drawConfig(dice, dice.pick(this.#families)), until }),
      block: () => ({ block: true, until }),
      unlimited: () => ({ unlimited: true, until }),
      more: () => ({ more: dice.from(1, 10), until }),
    };
    return overrides[dice.weighted({ config: 3, block: 1, unlimited: 1, more: 2 })]();
  }

  #drawDefinition(): Definition {
    const { plans, moveWindows } = this.mode;
    const dice = this.#dice;
    const [first] = this.#families as [Family];
    if (plans === "one") return drawConfig(dice, first, moveWindows);
    const names = ["free", "pro", "team"].slice(0, plans === "alike" ? dice.from(2, 3) : 3);
    const configs = names.map((name, i) => {
      const { [plans === "alike" ? 0 : i]: family = first } = this.#families;
      return [name, drawConfig(dice, family, moveWindows)] as const;
    });
    return { plans: Object.fromEntries(configs) } as unknown as Definition;
  }

  #plans(): (string | undefined)[] {
    const { plans } = this.world.definition;
    return plans ? Object.keys(plans) : [undefined];
  }
  #drawPlan(): string | undefined {
    return this.#dice.pick(this.#plans());
  }
  #drawCount(plan: string | undefined): number {
    const dice = this.#dice;
    const { rate, capacity = rate } = this.world.configOf(plan);
    const most = Math.max(1, Math.min(capacity, 12));
    const some = dice.from(1, most);
    return dice.chance(0.4) ? 1 : dice.pick([some, some, some, some, capacity, 0.5 + dice.int(most), capacity + some]);
  }
}
