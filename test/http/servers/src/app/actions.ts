// src/app/actions.ts
"use server";
import { enter } from "../gate";

/** A server action has no headers: the wait is part of its result. */
export async function subscribe(user: string): Promise<{ ok: true } | { ok: false; retryAt: number }> {
  const limited = await enter(user);
  if (!limited) return { ok: false, retryAt: Date.now() + 10_000 };
  const { status } = limited;
  return status.ok ? { ok: true } : { ok: false, retryAt: status.retryAt };
}
