// Columns of numbers that grow by doubling. A profile has millions of rows; typed arrays keep a row
// at its four or eight bytes and away from the garbage collector.

type Numbers = Int32Array | Uint8Array | Uint16Array | Float64Array;

export class Column<A extends Numbers> {
  length = 0;
  data: A;

  constructor(private readonly make: new (length: number) => A) {
    this.data = new make(64);
  }

  /** Room for `count` more rows; the caller writes into `data` and moves `length`. */
  reserve(count: number): void {
    const wanted = this.length + count;
    if (wanted <= this.data.length) return;
    const larger = new this.make(Math.max(wanted, this.data.length * 2));
    larger.set(this.data as never);
    this.data = larger;
  }

  push(value: number): void {
    if (this.length === this.data.length) this.reserve(1);
    this.data[this.length++] = value;
  }

  /** The rows that exist, without a copy. */
  view(): A {
    return this.data.subarray(0, this.length) as A;
  }

  /** Returns the unused room. */
  trim(): void {
    if (this.data.length > this.length + 64) this.data = this.data.slice(0, this.length) as A;
  }
}

export const ints = () => new Column(Int32Array);
export const bytes = () => new Column(Uint8Array);
export const shorts = () => new Column(Uint16Array);
export const doubles = () => new Column(Float64Array);

/**
 * A map from a pair of whole numbers to a whole number by open addressing, for trees: the key is
 * (parent node, what the child is). Both may be negative down to -16.
 */
export class PairMap {
  private first: Int32Array;
  private second: Int32Array;
  private values: Int32Array;
  private mask: number;
  size = 0;

  constructor(expected = 1024) {
    let capacity = 1024;
    while (capacity < expected * 2) capacity *= 2;
    this.first = new Int32Array(capacity);
    this.second = new Int32Array(capacity);
    this.values = new Int32Array(capacity).fill(-1);
    this.mask = capacity - 1;
  }

  private slot(first: number, second: number): number {
    let hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second + 0x7f4a7c15, 0x85ebca6b);
    hash ^= hash >>> 15;
    let slot = hash & this.mask;
    while (this.values[slot] !== -1 && (this.first[slot] !== first || this.second[slot] !== second)) {
      slot = (slot + 1) & this.mask;
    }
    return slot;
  }

  /** The value of the pair; `fresh` becomes its value if it has none. */
  intern(first: number, second: number, fresh: number): number {
    const slot = this.slot(first, second);
    const found = this.values[slot]!;
    if (found !== -1) return found;
    this.first[slot] = first;
    this.second[slot] = second;
    this.values[slot] = fresh;
    this.size += 1;
    if (this.size * 2 > this.mask) this.grow();
    return fresh;
  }

  private grow(): void {
    const { first, second, values } = this;
    const capacity = values.length * 2;
    this.first = new Int32Array(capacity);
    this.second = new Int32Array(capacity);
    this.values = new Int32Array(capacity).fill(-1);
    this.mask = capacity - 1;
    for (let index = 0; index < values.length; index++) {
      if (values[index] === -1) continue;
      const slot = this.slot(first[index]!, second[index]!);
      this.first[slot] = first[index]!;
      this.second[slot] = second[index]!;
      this.values[slot] = values[index]!;
    }
  }
}
