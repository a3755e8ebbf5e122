/** The search box of the documents. It fetches its index when it is first used. */
import MiniSearch from "minisearch";
import { startSite } from "./site.js";
import "./styles.css";

interface Section {
  url: string;
  page: string;
  heading: string;
  text: string;
}

const MOST_FOUND = 8;
/** Words that others use, with the documents' word. A search for a word that begins with one of these looks for the documents' word. */
const SYNONYMS = Object.entries({
  backoff: "jitter",
  cooldown: "retryat",
  leaky: "token",
  occ: "conflict",
  optimistic: "conflict",
  shard: "shard",
  throttl: "limit",
});
const { BASE_URL } = import.meta.env;

startSite();
const input = document.querySelector<HTMLInputElement>("#search");
const list = document.querySelector<HTMLOListElement>("#found");
if (!input || !list) throw new Error("docs.html has no search box.");

let index: Promise<MiniSearch<Section>> | undefined;

async function openIndex(): Promise<MiniSearch<Section>> {
  const sections = (await (await fetch(`${BASE_URL}search.json`)).json()) as Section[];
  const search = new MiniSearch<Section>({
    idField: "url",
    fields: ["heading", "page", "text"],
    storeFields: ["url", "page", "heading"],
    searchOptions: {
      boost: { heading: 4, page: 2 },
      prefix: true,
      fuzzy: 0.15,
      combineWith: "AND",
      processTerm: translate,
    },
  });
  search.addAll(sections);
  return search;
}

function translate(term: string): string {
  const word = term.toLowerCase();
  return SYNONYMS.find(([beginning]) => word.startsWith(beginning))?.[1] ?? word;
}

async function show(words: string, found: HTMLOListElement): Promise<void> {
  index ??= openIndex();
  const results = words === "" ? [] : (await index).search(words).slice(0, MOST_FOUND);
  // The visitor may have typed more in the meantime.
  if (input?.value.trim() !== words) return;
  const items = results.map((result) => {
    const { url, heading, page } = result as unknown as Section;
    const link = Object.assign(document.createElement("a"), { href: BASE_URL + url.slice(1), textContent: heading });
    const where = Object.assign(document.createElement("span"), { textContent: heading === page ? "" : page });
    const item = document.createElement("li");
    item.append(link, where);
    return item;
  });
  if (words !== "" && items.length === 0) {
    items.push(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
  }
  found.replaceChildren(...items);
}

input.addEventListener("input", () => void show(input.value.trim(), list));
input.addEventListener("keydown", ({ key }) => {
  if (key === "Enter") void show(input.value.trim(), list).then(() => list.querySelector("a")?.click());
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  input.focus();
});
