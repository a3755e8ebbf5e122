/** The changes of the first publication to the documents: the package is installed from npm, and the README has badges. */

/** The pages that say how the package is installed. */
export const INSTALLED_BY = ["README.md", "docs/start.md"] as const;

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
const UNTIL_THEN = {
  "README.md": /The package is not on npm yet\. [^]*?\n\n/,
  "docs/start.md": / The package is not on npm yet: [^]*?tarball\./,
};

/** The text of a page after the first publication. Later publications change nothing. */
export function published(page: (typeof INSTALLED_BY)[number], text: string, name: string, address: string): string {
  const install = `npm install ${name}`;
  const installed = text
    .replace(UNTIL_THEN[page], page === "README.md" ? "" : " Install the package:")
    .replace(TARBALL, install);
  if (page !== "README.md" || installed.includes("badge.svg")) return installed;
  const badges = [
    `[![npm](https://img.shields.io/npm/v/${name})](https://www.npmjs.com/package/${name})`,
    `[![CI](${address}/actions/workflows/ci.yml/badge.svg)](${address}/actions/workflows/ci.yml)`,
  ];
  // The badges come after the first paragraph, because assistants and search engines show that one.
  return installed.replace("\n\n```", `\n\n${badges.join("\n")}\n\n\`\`\``);
}
