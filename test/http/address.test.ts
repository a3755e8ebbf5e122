import { isIP, isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callerAddress, type Ipv6Prefix } from "../../src/http/address.js";
import { forAny } from "../support/random.js";

const WHOLE = "2001:db8:abcd:ef98::1";
it.each<[string, string, prefix?: Ipv6Prefix]>([
  ["203.0.113.7", "203.0.113.7"],
  [" 203.0.113.7 ", "203.0.113.7"],
  ["203.0.113.7:52044", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::FFFF:cb00:7107", "203.0.113.7"],
  ["[::ffff:203.0.113.7]:443", "203.0.113.7"],
  ["0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7"],
  ["::ffff:1.2.3.4", "1.2.3.4", false],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1::/56"],
  ["2001:0DB8:0001:0002:ffff::", "2001:db8:1::/56"],
  ["2001:db8::1", "2001:db8::/56"],
  ["[2001:db8::1]", "2001:db8::/56"],
  ["[2001:db8::1]:8080", "2001:db8::/56"],
  ["fe80::1%eth0", "fe80::/56"],
  [`[fe80::1%25eth0.${"1".repeat(80)}]:80`, "fe80::/56"],
  ["::", "::/56"],
  ["::1", "::/56"],
  ["::1.2.3.4", "1.2.3.4"],
  ["::0.255.3.4", "::/56"],
  ["64:ff9b::192.0.2.33", "192.0.2.33"],
  ["64:ff9b:0:0:1::192.0.2.33", "64:ff9b::/56"],
  [WHOLE, "2001:db8:abcd:ef98::/64", 64],
  [WHOLE, "2001:db8:abcd:ef90::/60", 60],
  [WHOLE, "2001:db8:abcd:ef80::/57", 57],
  [WHOLE, "2001:db8:abcd:ef00::/56", 56],
  [WHOLE, "2001:db8:abcd::/48", 48],
  [WHOLE, "2001:db8:abcc::/47", 47],
  [WHOLE, "2001:db8::/32", 32],
  [WHOLE, WHOLE, false],
  // 6to4: the prefix is at most the /48 of the network's owner.
  ["2002:c000:221:5::1", "2002:c000:221::/48", 64],
  ["2002:c000:221:5::1", "2002:c000:221::/48", 48],
  ["2002:c000:221:5::1", "2002:c000:200::/40", 40],
  ["2002:c000:221:5::1", "2002:c000:221:5::1", false],
  // RFC 5952: the first of the longest runs of zero groups is left out. A single zero group is not.
  ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1", false],
  ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1", false],
  ["::", "::", false],
  ["::1", "::1", false],
])("%j is the caller %j, with the prefix %s", (text, caller, prefix = 56) => {
  expect(callerAddress(text, prefix)).toBe(caller);
  if (prefix === 56) expect(callerAddress(text)).toBe(caller);
});

/** Texts that are not addresses, each for a different reason. */
const NOT_ADDRESSES = [
  ...[null, undefined, "", "unknown", "_hidden", "localhost"],
  ...["203.0.113", "203.0.113.7.8", "203.0.113.256", "203.0.113.07", "0xcb.0.113.7", "3405803783"],
  ...["203.0.113.7:", "203.0.113.7:x", "[203.0.113.7]", "[203.0.113.7]:80", "203.0.113.7:123456", "[::1]:123456"],
  ...["2001:db8::1::2", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", ":::"],
  ...["[::1", "[::1]x", "[[::1]]", "::1%", "1.2.3.4::", `fe80::1%${"z".repeat(93)}`],
  ...["٢٠٣.0.113.7", "203.0.113.7\u0000", "::1]@x/["],
];
it.each(NOT_ADDRESSES)("%j is not an address", (text) => {
  expect(callerAddress(text)).toBeUndefined();
});

describe("callerAddress agrees with the platform's own parsers", () => {
  /** Text made of the parts of addresses, so that many of the texts are addresses. */
  const part = fc.constantFrom("0", "1", "ffff", "db8", ":", "::", ".", "255", "256", "01", "7");
  const addressLike = fc.array(part, { minLength: 1, maxLength: 17 }).map((parts) => parts.join(""));

  it("every text that is read as an address is one, with or without a port", () => {
    forAny([fc.oneof(addressLike, fc.ipV4(), fc.ipV6(), fc.string())], 2000, (text) => {
      if (isIP(text) !== 0) expect(callerAddress(text)).toBeDefined();
      else if (callerAddress(text) !== undefined) expect(isIP(bare(text))).not.toBe(0);
    });
  });

  /** The address in the text, without spaces, brackets and port. */
  function bare(text: string): string {
    const trimmed = text.trim();
    return /^\[(.*)\](:\d+)?$/.exec(trimmed)?.[1] ?? trimmed.replace(/:\d+$/, (port) => (isIPv6(trimmed) ? port : ""));
  }

  it("an IPv6 address and its spelling in a URL are one caller, and a whole address is spelt as in the URL", () => {
    const eight = fc.array(fc.constantFrom(0, 0, 1, 16, 0x100), { minLength: 8, maxLength: 8 });
    const sparse = eight.map((all) => all.map((one) => one.toString(16)).join(":"));
    forAny([fc.oneof(fc.ipV6(), sparse)], 100, (address) => {
      const spelt = new URL(`http://[${address}]/`).hostname.slice(1, -1);
      expect(callerAddress(address)).toBe(callerAddress(spelt));
      const whole = callerAddress(address, false);
      if (whole?.includes(":")) expect(whole).toBe(spelt);
    });
  });
});
