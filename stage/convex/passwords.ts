/**
 * A fast hash, which is enough for an example. An app uses an auth library, which hashes slowly and with a random salt. The
 * limits stay the same.
 */
export async function digest(email: string, password: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${email}\n${password}`));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
