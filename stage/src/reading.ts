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

/** Watches each box that may go on to the right. */
export function markOverflow(): void {
  for (const box of document.querySelectorAll(".scroller > :first-child")) watchOverflow(box);
}

/** Sets `data-more` on the box's parent while the box goes on to the right, for the style sheet. Returns how to stop. */
export function watchOverflow(box: Element | null): (() => void) | undefined {
  if (!box) return undefined;
  const mark = () => {
    const more = box.scrollWidth - box.clientWidth - box.scrollLeft > 1;
    box.parentElement?.toggleAttribute("data-more", more);
  };
  const observer = new ResizeObserver(mark);
  observer.observe(box);
  box.addEventListener("scroll", mark, { passive: true });
  return () => {
    observer.disconnect();
    box.removeEventListener("scroll", mark);
  };
}
