/** First in, first out, at the same price however long it is (`Array.shift` moves all the others). */
export class Queue<Item> {
  #items: Item[] = [];
  #taken = 0;

  push(item: Item): void {
    this.#items.push(item);
  }

  take(): Item | undefined {
    const item = this.#items[this.#taken];
    if (this.#taken < this.#items.length) this.#taken++;
    if (this.#taken > 1000 && 2 * this.#taken > this.#items.length) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    return item;
  }
}
