/** Exact fractions, for judging the engine by arithmetic that cannot round. */
export interface Rational {
  readonly numerator: bigint;
  /** Above 0. */
  readonly denominator: bigint;
}

export const ZERO: Rational = { numerator: 0n, denominator: 1n };

/** The number as people write it: 0.1 is one tenth, not the double next to it. A fraction stays as it is. */
export function rational(number: number | Rational): Rational {
  if (typeof number === "object") return number;
  const read = decimals.get(number) ?? decimal(number);
  if (decimals.size < MOST_DECIMALS) decimals.set(number, read);
  return read;
}

/** The numbers of a scenario repeat often. */
const decimals = new Map<number, Rational>();
const MOST_DECIMALS = 10_000;

function decimal(number: number): Rational {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number));
  if (!match) throw new Error(`${number} is no decimal`);
  const [, sign = "", whole = "", decimals = "", exponent = "0"] = match;
  const digits = BigInt(sign + whole + decimals);
  const shift = Number(exponent) - decimals.length;
  return shift >= 0 ? fraction(digits * 10n ** BigInt(shift), 1n) : fraction(digits, 10n ** BigInt(-shift));
}

/** The very value of the double: for results of floating-point arithmetic. */
export function exactly(double: number): Rational {
  let denominator = 1n;
  while (!Number.isInteger(double)) {
    double *= 2;
    denominator *= 2n;
  }
  return fraction(BigInt(double), denominator);
}

export function fraction(numerator: bigint, denominator: bigint): Rational {
  const divisor = greatestCommonDivisor(numerator < 0n ? -numerator : numerator, denominator);
  return { numerator: numerator / divisor, denominator: denominator / divisor };
}

export function plus(a: Rational, b: Rational): Rational {
  return fraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

export function minus(a: Rational, b: Rational): Rational {
  return plus(a, { numerator: -b.numerator, denominator: b.denominator });
}

export function times(a: Rational, b: Rational): Rational {
  return fraction(a.numerator * b.numerator, a.denominator * b.denominator);
}

export function over(a: Rational, b: Rational): Rational {
  const sign = b.numerator < 0n ? -1n : 1n;
  return fraction(sign * a.numerator * b.denominator, sign * a.denominator * b.numerator);
}

export function isLess(a: Rational, b: Rational): boolean {
  return a.numerator * b.denominator < b.numerator * a.denominator;
}

export function least(a: Rational, b: Rational): Rational {
  return isLess(b, a) ? b : a;
}

export function greatest(a: Rational, b: Rational): Rational {
  return isLess(a, b) ? b : a;
}

export function floorOf({ numerator, denominator }: Rational): bigint {
  const quotient = numerator / denominator;
  return numerator < 0n && quotient * denominator !== numerator ? quotient - 1n : quotient;
}

export function ceilOf({ numerator, denominator }: Rational): bigint {
  return -floorOf({ numerator: -numerator, denominator });
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}
