/** Stories: an app with limits, and its answers to one request after another. */
import { describe, expect, it } from "vitest";
import type { PlaceName } from "../support/places.js";
import { type Handler, openApp, pass, type Way } from "./backend.js";

type App = ReturnType<typeof openApp>;
/** Short names for the fields that most answers check. */
const FIELDS: Record<string, string> = { policy: "RateLimit-Policy", left: "RateLimit", wait: "Retry-After" };
/**
 * An answer: a part of the message of the error that the handler throws; a status; or an object. The object has a status (default 200, or
 * 429 with a wait), header fields (null: absent) and a body. The body is text, or a part of the JSON.
 */
export type Answer = number | string | { status?: number; body?: unknown; [field: string]: unknown };
/**
 * A step: a wait in ms, a function to call, or a request and its answer. "ada POST /path" is a request of the user ada. By default, a
 * request has no user and is a GET of /. "ada 429" is a request and the status of its answer.
 */
export type Step = number | string | ((app: App) => Promise<unknown>) | readonly [request: string, answer: Answer];

export interface Story extends Way {
  /** Default: `byPath`. */
  handler?: Handler;
  steps: readonly Step[];
  /** The number of calls that ask the limits or refund tokens. */
  calls?: number;
  /** Parts of the errors that are reported, in order. Default: none. */
  reports?: readonly string[];
}

/** The steps, `count` times. */
export const times = (count: number, ...step: Step[]): Step[] => new Array<Step[]>(count).fill(step).flat();

/** Answers with the status in the path, and with the limits that the handler is given. At /throw it throws. */
export const byPath: Handler = (_ctx, request, limits) => {
  const [, path = ""] = new URL(request.url).pathname.split("/");
  if (path === "throw") return Promise.reject(new Error("bug"));
  const status = Number(path) || 200;
  return Promise.resolve(new Response([204, 304].includes(status) ? null : JSON.stringify(limits), { status }));
};

export async function play(story: Story): Promise<void> {
  const { handler = byPath, steps, calls, reports = [], runMutation, ...way } = story;
  const reported: unknown[] = [];
  let asked = 0;
  const app = openApp(
    {
      report: (error) => void reported.push(error),
      ...way,
      runMutation: async (call, ctx) => {
        asked++;
        return await (runMutation ? runMutation(call, ctx) : call());
      },
    },
    handler,
  );
  for (const [i, step] of steps.entries()) {
    if (typeof step === "number") pass(step);
    else if (typeof step === "function") await step(app);
    else if (typeof step === "string") await hold(app, [step.slice(0, -3), Number(step.slice(-3))], `${i}: ${step}`);
    else await hold(app, step, `${i}: ${step[0]}`);
  }
  expect(reported.map(String)).toEqual(reports.map((part) => expect.stringContaining(part) as string));
  if (calls !== undefined) expect(asked).toBe(calls);
}

async function hold({ send }: App, [request, answer]: readonly [string, Answer], step: string): Promise<void> {
  const words = request.split(" ");
  const [path = "/"] = words.filter((word) => word.startsWith("/"));
  const [method = "GET"] = words.filter((word) => /^[A-Z]+$/.test(word));
  const [user] = words.filter((word) => /^[^/A-Z]/.test(word));
  const sent = send(path, { method, headers: user === undefined ? {} : { "X-User": user } });
  if (typeof answer === "string") {
    await expect(sent, step).rejects.toThrow(answer);
    return;
  }
  const { body, ...said } =
    typeof answer === "number" ? { status: answer } : { status: answer["wait"] ? 429 : 200, ...answer };
  const response = await sent;
  const sentAs = (field: string) =>
    field === "status" ? response.status : response.headers.get(FIELDS[field] ?? field);
  const got = Object.keys(said).map((field) => [field, sentAs(field)]);
  expect({ step, ...Object.fromEntries(got) }).toEqual({ step, ...said });
  const text = await response.text();
  if (typeof body === "string") expect(text, step).toBe(body);
  else if (body !== undefined) expect(JSON.parse(text), step).toMatchObject(body as object);
}

/** Defines a test for each story in each of these places. */
export function tell(stories: Record<string, Story>, places: readonly PlaceName[] = ["tables"]): void {
  describe.each(places)("with the limits in the %s", (place) => {
    it.each(Object.entries(stories))("%s", async (_, story) => {
      await play({ place, ...story });
    });
  });
}
