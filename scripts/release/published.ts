/** What the first publication changes: the pages install the package from npm, and the README has badges. */

type Page = keyof typeof UNTIL_THEN;

/** What the pages say only until the first publication, and what they say in its place afterwards. */
const UNTIL_THEN = {
  "README.md": [/ +# not on npm yet: .*|The package is not on npm yet\. [^]*?\n\n/g, ""],
  "docs/start.md": [/ The package is not on npm yet: [^]*?tarball\./, " Install the package:"],
  // The app's manifest names the package.
  "example/README.md": [/npm install path\/to\/\S+\.tgz .*\n/, ""],
  "stage/index.html": [
    /(?<=<p class="fine">)\s+Not on npm yet: [^]*?(?=<\/p>)/,
    'Next: <a href="/docs/start.html">five steps to a deployed limit</a>.',
  ],
} as const;

/** The pages that say how the package is installed. */
export const INSTALLED_BY = Object.keys(UNTIL_THEN) as Page[];

/** `repository` of package.json as a browser's address. npm accepts an object, an address and "github:owner/name". */
export function repositoryAddress(repository: unknown): string | undefined {
  const given =
    typeof repository === "object" && repository !== null ? (repository as { url?: unknown }).url : repository;
  if (typeof given !== "string") return undefined;
  const [, owner, name] =
    /^(?:github:|(?:git\+)?https:\/\/github\.com\/)?([\w-]+)\/([\w.-]+?)(?:\.git)?$/.exec(given) ?? [];
  return owner === undefined || name === undefined ? undefined : `https://github.com/${owner}/${name}`;
}

const TARBALL = /npm install path\/to\/\S+\.tgz/;

/** The text of a page after the first publication. Later publications change nothing. */
export function published(page: Page, text: string, name: string, address: string): string {
  const [until, then] = UNTIL_THEN[page];
  const installed = text.replace(until, then).replace(TARBALL, `npm install ${name}`);
  if (page !== "README.md" || installed.includes("badge.svg")) return installed;
  const badges = [
    `[![npm](https://img.shields.io/npm/v/${name})](https://www.npmjs.com/package/${name})`,
    `[![CI](${address}/actions/workflows/ci.yml/badge.svg)](${address}/actions/workflows/ci.yml)`,
  ];
  // On npm's page "this" says nothing. The badges come after the first screen, which has the two commands of a clone.
  return installed
    .replace("A clone of this repository", `A clone of [the repository](${address})`)
    .replace("\n\n## ", `\n\n${badges.join("\n")}\n\n## `);
}
