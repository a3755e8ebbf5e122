/** SHA-256, as 64 hexadecimal digits. */

/**
 * What is stored of an API key or bearer token. Use it when you issue a key, so that your own tables do not hold the key either.
 *
 * @example
 * ```ts
 * import { digestOf } from "convex-rate-limits/http";
 *
 * async function issueKey(): Promise<{ key: string; digest: string }> {
 *   const key = crypto.randomUUID();
 *   return { key, digest: await digestOf(key) };
 * }
 * ```
 */
export async function digestOf(secret: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
