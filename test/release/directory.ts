/** The requirements of convex.dev/components for a README. */

const START = "<!-- START: Include on https://convex.dev/components -->";
const END = "<!-- END: Include on https://convex.dev/components -->";

/** The faults of the part that the directory shows. The part must be in the README once and contain the installation. */
export function directoryFaults(readme: string): string[] {
  const included = readme.slice(readme.indexOf(START) + START.length, readme.indexOf(END));
  const needed = ["npm install", "app.use(rateLimits)"];
  return [
    ...[START, END].filter((marker) => readme.split(marker).length !== 2),
    ...needed.filter((text) => !included.includes(text)),
    ...(included.length > 2000 ? [] : ["it is too short"]),
  ];
}
