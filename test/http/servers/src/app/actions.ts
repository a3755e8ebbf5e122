// src/app/actions.ts
"use server";
import { enter } from "../gate";

/** A server action has no headers: the wait is part of its result. */
export async function subscribe(user: string): Promise<{ ok: true } | { ok: false; retryAt: number }> {
  const { status } = await enter(user);
  return status.ok ? { ok: true } : { ok: false, retryAt: status.retryAt };
}
