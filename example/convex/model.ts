/** The language model. Without MODEL_URL a stand-in answers, so that the app runs without an account at a provider. */
import { SECOND } from "convex-rate-limits/component";
import { retryAfterOf } from "convex-rate-limits/http";
import { env } from "./_generated/server";

/** The longest answer that is asked for, in tokens. */
export const ANSWER_TOKENS = 500;

export type Reply = { answer: string; used: number } | { deniedUntil: number };

/** The usual rule of thumb for English text: four characters are a token. */
export function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}

export async function callModel(prompt: string): Promise<Reply> {
  if (!env.MODEL_URL) return { answer: `You asked: ${prompt}`, used: 2 * tokensOf(prompt) };
  const body = JSON.stringify({ prompt, maxTokens: ANSWER_TOKENS });
  const response = await fetch(env.MODEL_URL, { method: "POST", body });
  if (response.status === 429) {
    const now = Date.now();
    // At least a second: after a "0" the question would use up all its attempts at once.
    const until = Math.max(retryAfterOf(response, now) ?? now + 5 * SECOND, now + SECOND);
    // Questions that are denied together pause until the same second, so only the first of them writes.
    return { deniedUntil: Math.ceil(until / SECOND) * SECOND };
  }
  if (!response.ok) throw new Error(`The model's provider answered ${response.status}.`);
  const { answer, tokens } = (await response.json()) as { answer: string; tokens: number };
  return { answer, used: tokens };
}
