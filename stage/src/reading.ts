/** Marks on a document: the section that the reader is in, and boxes that hold more to their right. */

/** How far below the top of the window, in pixels, a section begins to be the current one. A link puts its heading at 16. */
const READING_LINE = 96;

/** Marks the current section in "On this page". */
export function markSection(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('nav[aria-label="On this page"] a')];
  const headings = links.map(({ hash }) => document.getElementById(decodeURIComponent(hash.slice(1))));
  const mark = () => {
    const { clientHeight, scrollHeight, scrollTop } = document.documentElement;
    const isEnd = scrollTop > 0 && scrollTop + clientHeight > scrollHeight - 2;
    const begun = headings.filter((heading) => (heading?.getBoundingClientRect().top ?? Infinity) < READING_LINE);
    const current = (isEnd ? links.length : begun.length) - 1;
    links.forEach((link, index) => {
      if (index === current) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    });
  };
  mark();
  addEventListener("scroll", mark, { passive: true });
  addEventListener("resize", mark);
}

/** Sets `data-more` on each box whose content goes on to the right. The style sheet shows it. */
export function markOverflow(): void {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) mark(target);
  });
  for (const box of document.querySelectorAll(".scroller > :first-child")) {
    observer.observe(box);
    box.addEventListener(
      "scroll",
      () => {
        mark(box);
      },
      { passive: true },
    );
  }
}

function mark(box: Element): void {
  const more = box.scrollWidth - box.clientWidth - box.scrollLeft > 1;
  box.parentElement?.toggleAttribute("data-more", more);
}
