/**
 * Unmodified HTTP clients call the example's API over real HTTP and on the real clock. A client that obeys Retry-After is never early, so no
 * client gets a second 429 for the same request.
 */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import axios from "axios";
import axiosRetry from "axios-retry";
import fetchRetry from "fetch-retry";
import got from "got";
import ky from "ky";
import { Agent, request as undiciRequest, RetryAgent } from "undici";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import example from "../../tools/backend/app.js";
import { type Embedded, listen } from "../../tools/backend/test/wire.js";

const run = promisify(execFile);
const START = Date.UTC(2026, 0, 1);

let server: Embedded;
let url: string;
/** The status and the time of every answer, in order, in ms of `performance.now`. */
let answers: { status: number; at: number }[];

beforeEach(async () => {
  answers = [];
  // The limits' clock stands still until the first 429, so that a client may take any time to start. Then the clock follows real time.
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  server = await listen(0, example, (response) => {
    const denied = answers.find(({ status }) => status === 429);
    if (denied) vi.setSystemTime(START + Math.floor(performance.now() - denied.at));
    response.on("finish", () => answers.push({ status: response.statusCode, at: performance.now() }));
  });
  url = `${server.url}/http/api/hello`;
});
afterEach(async () => {
  await server.close();
  vi.useRealTimers();
});

/** A key of the "pro" plan, which allows ten requests a second, so that waits are short. */
const KEY = { "X-Api-Key": "demo-pro" };

/** Uses up the address's 40 tokens, which come back at 2 a second. */
async function exhaust(): Promise<void> {
  const responses = await Promise.all(Array.from({ length: 40 }, () => fetch(url, { headers: KEY })));
  await Promise.all(responses.map((response) => response.arrayBuffer()));
  expect(answers.map(({ status }) => status)).toEqual(new Array(40).fill(200));
  answers.length = 0;
}

/** Expects one denial, its wait, and the answer: the client retried neither early nor minutes late. */
function expectObedience(): void {
  expect(answers.map(({ status }) => status)).toEqual([429, 200]);
  const [denied = 0, served = 0] = answers.map(({ at }) => at);
  // Tokens come every 500 ms; Retry-After says 1 s, and the gateway's jitter of 0.5 at most 2 s. A client may add a little.
  expect(served - denied).toBeGreaterThan(500);
  expect(served - denied).toBeLessThan(8000);
}

const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

const PYTHON = `
import sys, urllib3
from urllib3.util import Retry
retries = Retry(total=3, status_forcelist=[429], respect_retry_after_header=True, backoff_factor=0)
print(urllib3.PoolManager(retries=retries).request("GET", sys.argv[1], headers={"X-Api-Key": "demo-pro"}).status)
`;

async function sendWithPython(): Promise<number> {
  return Number((await run("python3", ["-c", PYTHON, url])).stdout);
}

async function sendWithCurl(): Promise<number> {
  const options = "-sS --noproxy * -w %{http_code} --retry 3".split(" ");
  const { stdout } = await run("curl", [...options, "-H", "X-Api-Key: demo-pro", url]);
  return Number(stdout.slice(-3));
}

const clients: (readonly [string, () => Promise<unknown>])[] = [
  ["ky", async () => (await ky.get(url, { headers: KEY })).status],
  ["got", async () => (await got(url, { headers: KEY, retry: { limit: 3, statusCodes: [429] } })).statusCode],
  [
    "axios with axios-retry",
    async () => {
      const client = axios.create({ headers: KEY, proxy: false });
      axiosRetry(client, {
        retries: 3,
        retryCondition: (error) => error.response?.status === 429,
        retryDelay: (count, error) => axiosRetry.exponentialDelay(count, error, 0),
      });
      return (await client.get(url)).status;
    },
  ],
  [
    "undici's RetryAgent",
    async () => {
      const dispatcher = new RetryAgent(new Agent(), { statusCodes: [429], maxRetries: 3 });
      const { statusCode, body } = await undiciRequest(url, { dispatcher, headers: KEY });
      await body.dump();
      await dispatcher.close();
      return statusCode;
    },
  ],
  [
    "fetch-retry",
    async () => {
      const client = fetchRetry(fetch, {
        retries: 3,
        retryOn: [429],
        retryDelay: (_attempt, _error, response) => Number(response?.headers.get("Retry-After")) * 1000,
      });
      return (await client(url, { headers: KEY })).status;
    },
  ],
  ...(has("curl", "--version") ? [["curl --retry", sendWithCurl] as const] : []),
  ...(has("python3", "-c", "import urllib3") ? [["Python's urllib3", sendWithPython] as const] : []),
];

it.each(clients)("%s obeys Retry-After, and is denied only once", async (_, send) => {
  await exhaust();
  expect(await send()).toBe(200);
  expectObedience();
});
