/** The search box of the documents. It fetches its index when it is first used. */
import { makeSearch, type Section } from "./search.js";

const { BASE_URL } = import.meta.env;

export function startSearch(): void {
  const input = document.querySelector<HTMLInputElement>("#search");
  const list = document.querySelector<HTMLOListElement>("#found");
  if (!input || !list) throw new Error("docs.html has no search box.");
  let find: ReturnType<typeof openIndex> | undefined;

  const show = async (): Promise<void> => {
    const words = input.value.trim();
    find ??= openIndex();
    const found = (await find)(words);
    // The visitor may have typed more in the meantime.
    if (input.value.trim() !== words) return;
    const items = found.map(itemOf);
    if (words !== "" && items.length === 0) items.push(make("li", { textContent: "Nothing found." }));
    list.replaceChildren(...items);
  };

  input.addEventListener("input", () => void show());
  input.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") void show().then(() => list.querySelector("a")?.click());
  });
  list.parentElement?.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      list.replaceChildren();
      input.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const stops = [input, ...list.querySelectorAll("a")];
    stops[(stops.indexOf(event.target as HTMLInputElement) + step + stops.length) % stops.length]?.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target === input) return;
    event.preventDefault();
    input.focus();
  });
}

async function openIndex(): Promise<(words: string) => Section[]> {
  return makeSearch((await (await fetch(`${BASE_URL}search.json`)).json()) as Section[]);
}

function itemOf({ url, heading, page }: Section): HTMLLIElement {
  const item = make("li", {});
  item.append(
    make("a", { href: BASE_URL + url.slice(1), textContent: heading }),
    make("span", { textContent: heading === page ? "" : page }),
  );
  return item;
}

function make<Tag extends "a" | "li" | "span">(tag: Tag, properties: Partial<HTMLElementTagNameMap[Tag]>) {
  return Object.assign(document.createElement(tag), properties);
}
