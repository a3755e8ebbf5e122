/** Slow hashes of passwords (PBKDF2). If your auth library hashes, use its functions. Only actions have the time for it. */

export interface StoredPassword {
  salt: string;
  iterations: number;
  hash: string;
}

/** What OWASP recommends for PBKDF2 with SHA-256. */
const ITERATIONS = 600_000;

export async function hashPassword(password: string): Promise<StoredPassword> {
  const salt = hex(crypto.getRandomValues(new Uint8Array(16)));
  return { salt, iterations: ITERATIONS, hash: await derive(password, salt, ITERATIONS) };
}

/** Without an account it takes as long as with one: the time must not say whether there is one. */
export async function isPassword(password: string, stored: StoredPassword | undefined): Promise<boolean> {
  const { salt, iterations, hash } = stored ?? { salt: "", iterations: ITERATIONS, hash: "" };
  return (await derive(password, salt, iterations)) === hash;
}

async function derive(password: string, salt: string, iterations: number): Promise<string> {
  const bytes = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", bytes.encode(password), "PBKDF2", false, ["deriveBits"]);
  const params = { name: "PBKDF2", hash: "SHA-256", salt: bytes.encode(salt), iterations };
  return hex(new Uint8Array(await crypto.subtle.deriveBits(params, key, 256)));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
