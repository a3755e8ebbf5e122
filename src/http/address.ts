/** The text of an IP address → the part of it that stands for one caller. Anything doubtful is no address. */

/** The longest text worth a look: a full IPv6 address with an embedded IPv4 one, a zone, brackets and a port. */
const MAX_LENGTH = 100;

/**
 * An IPv4 address as it is, an IPv6 address as the /64 that contains it, since a subscriber is given at least that much; an
 * IPv4 address mapped into IPv6 is that IPv4 address. Brackets, ports and zone ids are dropped. Undefined for anything else.
 */
export function callerAddress(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_LENGTH) return undefined;
  const bracketed = /^\[([^[\]]*)\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  if (bracketed !== undefined) return ipv6Caller(bracketed);
  const [host, port, ...more] = trimmed.split(":");
  if (host !== undefined && more.length === 0 && (port === undefined || /^\d{1,5}$/.test(port))) {
    return ipv4Octets(host)?.join(".");
  }
  return ipv6Caller(trimmed);
}

function ipv6Caller(text: string): string | undefined {
  const groups = ipv6Groups(text.replace(/%[\w.-]+$/, ""));
  if (!groups) return undefined;
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** Four decimal numbers up to 255. A leading zero is refused: some read it as octal. */
function ipv4Octets(text: string): number[] | undefined {
  const parts = text.split(".");
  const valid = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
  return valid ? parts.map(Number) : undefined;
}

/** The eight groups of an IPv6 address (RFC 4291, section 2.2). */
function ipv6Groups(text: string): number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, i) => groupsOf(half, i === halves.length - 1));
  if (!head) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  if (!tail || head.length + tail.length > 7) return undefined;
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** The groups of one side of "::"; the very last may be an IPv4 address, which makes two. */
function groupsOf(half: string, isLast: boolean): number[] | undefined {
  if (half === "") return [];
  const groups: number[] = [];
  const parts = half.split(":");
  for (const [i, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(parseInt(part, 16));
      continue;
    }
    const octets = isLast && i === parts.length - 1 ? ipv4Octets(part) : undefined;
    if (!octets) return undefined;
    const [a = 0, b = 0, c = 0, d = 0] = octets;
    groups.push(a * 256 + b, c * 256 + d);
  }
  return groups;
}
