/** The text of an IP address → the part of it that stands for one caller. Doubtful text is no address. */
import { checkField, type Field } from "../engine/fields.js";

/** How many leading bits of an IPv6 address stand for one caller, 32 to 64; false: all of them. */
export type Ipv6Prefix = number | false;

/** What most providers assign to a subscriber. /64 would be 256 buckets for each; /48 one bucket for 256 of them. */
const COMMON_PREFIX = 56;

export const ipv6PrefixField: Field = { atLeast: 32, atMost: 64, isWhole: true, oneOf: [false] };

/**
 * An IPv4 address as it is; an IPv6 address as the network that contains it, in the form of RFC 5952. An IPv4 address
 * that is mapped into IPv6, written as IPv4-compatible, or translated by NAT64 is that IPv4 address. Brackets, ports
 * and zone ids are dropped. Undefined for anything else. `address` uses it; you can also call it in mutations.
 *
 * @throws when the prefix is out of range.
 * @example
 * ```ts
 * import { callerAddress } from "convex-rate-limits/http";
 *
 * export const caller = callerAddress("2001:db8:1:2::3"); // "2001:db8:1::/56"
 * ```
 */
export function callerAddress(text: string | null | undefined, prefix: Ipv6Prefix = COMMON_PREFIX): string | undefined {
  checkField({ of: "address" }, "the IPv6 prefix", ipv6PrefixField, prefix);
  const trimmed = text?.trim() ?? "";
  // The longest is a full IPv6 address with an embedded IPv4 one, a zone, brackets and a port.
  if (trimmed.length > 100) return undefined;
  // In brackets, or with a port after it; what is neither is the address.
  const [, bracketed, bare] = /^\[([^[\]]*:[^[\]]*)\](?::\d{1,5})?$|^([^:]*):\d{1,5}$/.exec(trimmed) ?? [];
  const host = bracketed ?? bare ?? trimmed;
  if (!host.includes(":")) return isIpv4(host) ? host : undefined;
  const groups = ipv6Groups(host.replace(/%[\w.-]+$/, ""));
  if (!groups) return undefined;
  const [high = 0, low = 0] = groups.slice(6);
  if (hasIpv4(groups)) return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  if (prefix === false) return canonical(groups);
  // 6to4 (RFC 3056) gives the owner of an IPv4 address a /48.
  const bits = groups[0] === 0x2002 ? Math.min(prefix, 48) : prefix;
  const kept = groups.map((group, i) => group & (0xffff_0000 >> Math.min(16, Math.max(0, bits - 16 * i))));
  return `${canonical(kept)}/${bits}`;
}

/** As RFC 5952 writes it, and the host of a URL: the first of the longest runs of two or more zero groups is "::". */
function canonical(groups: readonly number[]): string {
  return new URL(`http://[${hex(groups)}]`).hostname.slice(1, -1);
}

function hex(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(":");
}

/** Whether the last 32 bits are an IPv4 address: mapped, of NAT64 (RFC 6052), or compatible (RFC 4291, 2.5.5.1). */
function hasIpv4(groups: readonly number[]): boolean {
  const before = hex(groups.slice(0, 6));
  // "::" and "::1" are addresses of their own, so an IPv4-compatible one needs a first octet.
  if (before === "0:0:0:0:0:0") return (groups[6] ?? 0) > 255;
  return before === "0:0:0:0:0:ffff" || before === "64:ff9b:0:0:0:0";
}

/** Four decimal numbers up to 255. A leading zero is refused: some read it as octal. */
function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** The eight groups of an IPv6 address (RFC 4291, section 2.2): a URL reads the same forms, and writes them in hex. */
function ipv6Groups(text: string): number[] | undefined {
  if (!/^[\da-f:.]+$/i.test(text)) return undefined;
  try {
    const halves = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::");
    const [head = [], tail = []] = halves.map((half) => half.split(":").filter(Boolean));
    const zeros = new Array<string>(8 - head.length - tail.length).fill("0");
    return [...head, ...zeros, ...tail].map((group) => parseInt(group, 16));
  } catch {
    return undefined;
  }
}
