/** The header fields, one function a format. The draft still moves: what it changes is changed here. */
import { byTightness, type Quota, secondsUntil } from "./quota.js";
import { writeList } from "./structuredFields.js";

/**
 * - `"draft-11"`: `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, structured fields.
 * - `"draft-6"`: `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds from now), as that draft had them
 *   until revision 6.
 * - `"x"`: `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` (seconds since the epoch), as GitHub sends them.
 *
 * The latter two know one limit only; they tell of the tightest.
 */
export type RateLimitFormat = "draft-11" | "draft-6" | "x";

type Fields = Readonly<Record<string, string>>;

export const FORMATS: Readonly<Record<RateLimitFormat, (quotas: readonly Quota[], now: number) => Fields>> = {
  "draft-11": draft11,
  "draft-6": draft6,
  x: xRateLimit,
};

function draft11(quotas: readonly Quota[], now: number): Fields {
  const denied = quotas.filter((quota) => quota.denied);
  // After a denial only what denied it counts: Retry-After may not name a moment before the end of a listed window.
  const telling = (denied.length > 0 ? denied : [...quotas]).sort(byTightness);
  return {
    "RateLimit-Policy": writeList(
      quotas.map(({ name, quota, unit, windowSeconds, partitionKey }) => ({
        value: name,
        parameters: { q: quota, qu: unit, w: windowSeconds, pk: bytes(partitionKey) },
      })),
    ),
    RateLimit: writeList(
      telling.map(({ name, available, moreAt, partitionKey }) => ({
        value: name,
        parameters: { r: available, t: secondsUntil(moreAt, now), pk: bytes(partitionKey) },
      })),
    ),
  };
}

function bytes(partitionKey: string | undefined): Uint8Array | undefined {
  return partitionKey === undefined ? undefined : new TextEncoder().encode(partitionKey);
}

function draft6(quotas: readonly Quota[], now: number): Fields {
  const [tightest] = [...quotas].sort(byTightness);
  if (!tightest) return {};
  return {
    "RateLimit-Limit": String(tightest.quota),
    "RateLimit-Remaining": String(tightest.available),
    "RateLimit-Reset": String(secondsUntil(tightest.moreAt, now)),
  };
}

function xRateLimit(quotas: readonly Quota[]): Fields {
  const [tightest] = [...quotas].sort(byTightness);
  if (!tightest) return {};
  return {
    "X-RateLimit-Limit": String(tightest.quota),
    "X-RateLimit-Remaining": String(tightest.available),
    "X-RateLimit-Reset": String(secondsUntil(tightest.moreAt, 0)),
  };
}
