/** The room, which is what two pages share. It is in the address, so that a copied link opens the same room. */

export const room = currentRoom();

function currentRoom(): string {
  const url = new URL(location.href);
  const given = url.searchParams.get("room");
  if (given && /^[\w-]{1,40}$/.test(given)) return given;
  const fresh = Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) =>
    byte.toString(36).padStart(2, "0"),
  ).join("");
  url.searchParams.set("room", fresh);
  history.replaceState(null, "", url);
  return fresh;
}
