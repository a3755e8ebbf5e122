import { api } from "../convex/_generated/api.js";
import type { Id } from "../convex/_generated/dataModel.js";
import type { Backend } from "./backend.js";

export const PASSWORD = "correct horse";

export function emailOf(name: string): string {
  return `${name.toLowerCase()}@example.com`;
}

export async function signUp(backend: Backend, name: string): Promise<Id<"users">> {
  const result = await backend.mutation(api.signUps.signUp, { email: emailOf(name), password: PASSWORD });
  if (!result.ok) throw new Error(`${name} could not sign up until ${new Date(result.retryAt).toISOString()}.`);
  return result.user;
}
