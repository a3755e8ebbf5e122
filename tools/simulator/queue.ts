/** A first-in, first-out queue whose speed does not depend on its length (`Array.shift` moves all other items). */
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
