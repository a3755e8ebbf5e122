/** The buttons of every page, also of the documents: one switches the colours, and others copy text. */

export function startSite(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-theme-button]")) watchTheme(button);
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-copy]")) {
    button.addEventListener("click", () => {
      const { copy: id } = button.dataset;
      // A button of code names nothing: it follows its code.
      const source = id ? document.getElementById(id) : button.previousElementSibling;
      void copy(button, source?.textContent ?? "");
    });
  }
}

function watchTheme(button: HTMLButtonElement): void {
  const root = document.documentElement;
  const other = () => (root.dataset["theme"] === "dark" ? "light" : "dark");
  const label = () => {
    button.setAttribute("aria-label", `Switch to ${other()} colours`);
  };
  label();
  button.addEventListener("click", () => {
    root.dataset["theme"] = other();
    localStorage.setItem("theme", root.dataset["theme"]);
    label();
  });
}

const SHOWN_MS = 1500;

/** Copies a text, and shows that on the button for 1.5 s. */
export async function copy(button: HTMLElement, text: string): Promise<void> {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select it";
  }
  setTimeout(() => {
    button.textContent = before;
  }, SHOWN_MS);
}
