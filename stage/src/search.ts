/** The search of the documents. A word also finds what the documents call the same thing. */
import MiniSearch from "minisearch";

export interface Section {
  url: string;
  page: string;
  heading: string;
  text: string;
}

const MOST_FOUND = 8;

/** How people begin a word, with the documents' words for it. */
const SYNONYMS = Object.entries({
  anthropic: ["llm", "provider"],
  backoff: ["jitter", "retryat"],
  ban: ["block"],
  claude: ["llm", "provider"],
  cooldown: ["retryat"],
  cron: ["sweep"],
  dryrun: ["shadow"],
  gpt: ["llm", "provider"],
  leaky: ["token"],
  lockout: ["lock", "login"],
  month: ["calendar"],
  occ: ["conflict"],
  openai: ["llm", "provider"],
  optimistic: ["conflict"],
  spam: ["burst", "caller"],
  stripe: ["plan"],
  subscription: ["plan", "month"],
  throttl: ["limit"],
  tier: ["plan"],
  unban: ["unblock", "unlock"],
});

/** Finds sections, the best first. A section must have each of the words, or another word for it. */
export function makeSearch(sections: readonly Section[]): (words: string) => Section[] {
  const search = new MiniSearch<Section>({
    idField: "url",
    fields: ["heading", "page", "text"],
    storeFields: ["url", "page", "heading"],
    searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.15 },
  });
  search.addAll(sections);
  return (words) => {
    const queries = wordsOf(words).map((word) => ({ combineWith: "OR" as const, queries: alternativesOf(word) }));
    if (queries.length === 0) return [];
    return search.search({ combineWith: "AND", queries }).slice(0, MOST_FOUND) as unknown as Section[];
  };
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/\bdry[\s-]+run/g, "dryrun")
    .split(/[^\p{L}\p{N}_$]+/u)
    .filter(Boolean);
}

/** The word, its stem ("testing" finds "Test"), and its synonyms. */
function alternativesOf(word: string): string[] {
  const stem = /^(\w{3,}?)(?:ing|ly|ed|s)$/.exec(word)?.[1] ?? word;
  const synonyms = SYNONYMS.filter(([beginning]) => word.startsWith(beginning)).flatMap(([, words]) => words);
  return [...new Set([word, stem, ...synonyms])];
}
