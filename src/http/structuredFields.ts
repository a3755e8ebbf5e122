/** Structured fields (RFC 9651), written: only the part that the RateLimit fields use. Tests read it back with a library. */

/** A whole number, a printable ASCII string, or bytes. */
type BareItem = number | string | Uint8Array;

/** A string item with its parameters, in order; an undefined parameter is left out. */
interface Item {
  readonly value: string;
  readonly parameters: Readonly<Record<string, BareItem | undefined>>;
}

/** The largest Integer of RFC 9651, section 3.3.1: fifteen digits. */
export const MAX_INTEGER = 999_999_999_999_999;

export function writeList(items: readonly Item[]): string {
  return items.map(writeItem).join(", ");
}

function writeItem({ value, parameters }: Item): string {
  const written = Object.entries(parameters).flatMap(([name, parameter]) =>
    parameter === undefined ? [] : [`;${name}=${writeBareItem(parameter)}`],
  );
  return writeBareItem(value) + written.join("");
}

function writeBareItem(item: BareItem): string {
  if (typeof item === "number") return String(item);
  if (typeof item === "string") return `"${item.replace(/["\\]/g, "\\$&")}"`;
  return `:${btoa(String.fromCharCode(...item))}:`;
}

/**
 * Any text as printable ASCII, which is all that a String may hold: everything else, and the percent sign itself, is
 * percent-encoded as UTF-8, so that different texts stay different and decodeURIComponent gives them back.
 */
export function toAscii(text: string): string {
  let ascii = "";
  for (const byte of new TextEncoder().encode(text)) {
    const printable = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    ascii += printable ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return ascii;
}
