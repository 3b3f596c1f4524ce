// What one thing was over time: a list of begins with what began then; each lasts until the next one begins.
// Owns: the spans of one processor (values are looks) or the states of one application (null: it was not there).

import { after } from "./search";

export class Timeline<Value> {
  readonly starts: number[] = [];
  readonly values: Value[] = [];

  get length(): number {
    return this.starts.length;
  }

  /** From `t` on it is `value`. Returns how many spans more there are. */
  set(t: number, value: Value): number {
    const last = this.starts.length - 1;
    if (last < 0) {
      this.starts.push(t);
      this.values.push(value);
      return 1;
    }
    if (this.values[last] === value) return 0;
    if (t > this.starts[last]!) {
      this.starts.push(t);
      this.values.push(value);
      return 1;
    }
    // At one and the same time the later message counts.
    this.values[last] = value;
    return 0;
  }

  /** Index of the span that covers `t`; -1 before the first. */
  indexAt(t: number): number {
    return after(this.starts, t) - 1;
  }

  at(t: number): Value | undefined {
    return this.values[this.indexAt(t)];
  }

  get last(): Value | undefined {
    return this.values[this.values.length - 1];
  }

  /** Forgets the spans that ended before `t`. Returns how many they were. */
  forget(t: number): number {
    const old = this.indexAt(t);
    if (old <= 0) return 0;
    this.starts.splice(0, old);
    this.values.splice(0, old);
    return old;
  }
}
