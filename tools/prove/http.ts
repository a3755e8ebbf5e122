/** Checks HTTP actions as a client sees them, through the proxies in front of a deployment. */
import type { Check, Prover } from "./check.js";
import { sleep } from "./sleep.js";

const subject = "HTTP";
/** An address that nobody has. A caller that pretends to be another one sends such an address. */
const FORGED = "203.0.113.7";

const ask = (
  { siteUrl, secret }: Prover,
  path: string,
  { headers, ...init }: { method?: string; headers?: Record<string, string> } = {},
) => fetch(`${siteUrl}/prove/${path}`, { ...init, headers: { "X-Prove-Secret": secret, ...headers } });

/** Requests the limited route. Its bucket holds three requests and refills one every two seconds. */
const limited = (prover: Prover, label: string, init?: { method: string }) => {
  const key = prover.key("component", "proofRequests", label);
  return ask(prover, `limited?run=${key.replace("own.run:", "")}`, init);
};

export const http: readonly Check[] = [
  {
    subject,
    name: "The fields on the wire",
    expected: "RateLimit and X-RateLimit-* on 200 and 429; the 429 has Retry-After, after which the request succeeds",
    calls: () => 5,
    seconds: () => 10,
    run: async (prover) => {
      const answers: Response[] = [];
      for (let call = 0; call < 4; call++) answers.push(await limited(prover, "fields"));
      const denied = answers[3];
      const seconds = Number(denied?.headers.get("retry-after"));
      await sleep(seconds * 1000);
      const after = await limited(prover, "fields");
      const statuses = [...answers, after].map(({ status }) => status).join(" ");
      const isThere = answers.every(({ headers }) =>
        ["ratelimit", "ratelimit-policy", "x-ratelimit-remaining"].every((name) => headers.has(name)),
      );
      return {
        seen: `${statuses}; ${isThere ? "all fields" : `only ${[...(answers[0]?.headers.keys() ?? [])].join(", ")}`}; Retry-After ${seconds}`,
        holds: statuses === "200 200 200 429 200" && isThere && seconds >= 1,
      };
    },
  },
  {
    subject,
    name: "X-Forwarded-For with a forged address in front",
    expected: "the platform appends the caller's address: address({ trustedProxies: 1 }) is right",
    notEmbedded: "no proxy is in front of it",
    calls: () => 1,
    run: async (prover) => {
      const answer = await ask(prover, "echo", { headers: { "X-Forwarded-For": FORGED } });
      const { forwarded, ip } = (await answer.json()) as { forwarded: string | null; ip: string | null };
      const entries = (forwarded ?? "").split(",").map((entry) => entry.trim());
      const shape = entries
        .map((entry) => (entry === FORGED ? "forged" : entry === "" ? "nothing" : "appended"))
        .join(", ");
      const metadata = ip === null ? "none" : ip === FORGED ? "the forged one" : "another";
      return {
        seen: `${shape}; the metadata's address is ${metadata}`,
        holds: entries.length === 2 && entries[0] === FORGED,
      };
    },
  },
  {
    subject,
    name: "HEAD and OPTIONS",
    expected: "HEAD is a GET without a body, counted as one; OPTIONS is answered and not counted",
    calls: () => 3,
    run: async (prover) => {
      const head = await limited(prover, "head", { method: "HEAD" });
      const options = await limited(prover, "head", { method: "OPTIONS" });
      const get = await limited(prover, "head");
      const body = await head.text();
      const left = get.headers.get("x-ratelimit-remaining");
      return {
        seen: `HEAD ${head.status} with ${body.length} bytes, OPTIONS ${options.status}, then ${left} left of 3`,
        holds: head.status === 200 && body === "" && options.status === 204 && left === "1",
      };
    },
  },
  {
    subject,
    name: "A response in two parts, half a second apart",
    expected: "the first part arrives at least 300 ms before the second",
    notEmbedded: "it sends each response in one piece",
    calls: () => 1,
    run: async (prover) => {
      const { body } = await ask(prover, "stream");
      const times: number[] = [];
      for await (const part of body ?? []) if (part.length > 0) times.push(performance.now());
      const apart = Math.round((times.at(-1) ?? 0) - (times[0] ?? 0));
      return { seen: `${times.length} parts, ${apart} ms apart`, holds: apart >= 300 };
    },
  },
];
