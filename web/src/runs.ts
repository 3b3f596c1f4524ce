// Turns the spans of one processor into runs of pixel columns that look the same. Owns the runs of the last row that
// it was given: a full picture has a quarter of a million of them, too many to make an object of each.

import { after, beginAt } from "./search";
import type { Timeline } from "./timeline";

// With more spans than this in one column the rest of it is skipped: nobody sees which of them was a little longer.
const LOOKED_AT = 8;
// A row with more spans than columns is drawn with columns twice as wide: it is noise to the eye, and half the work.
const COARSE = 2;

export class Runs {
  count = 0;
  /** First column of each run, and the first one after it. */
  x0 = new Int32Array(0);
  x1 = new Int32Array(0);
  /** Index of its look in the model. */
  looks = new Int32Array(0);

  private grain = 1;
  private columns = 0;

  /**
   * Takes the runs of `row` from time `from` to `to`, `columns` pixels wide. Nothing is known after `end`. A column
   * with several spans shows the one that fills most of it.
   */
  take(row: Timeline<number>, from: number, to: number, columns: number, end: number): void {
    const { starts, values } = row;
    const stop = Math.min(to, end);
    const most = starts.length;
    this.count = 0;
    this.reserve(columns);
    let i = Math.max(0, row.indexAt(from));
    if (i >= most || starts[i]! >= stop) return;
    // Where the loop ends, so that it need not ask at each span.
    const beyond = beginAt(starts, stop, i);
    this.grain = beyond - i > columns ? COARSE : 1;
    this.columns = columns;
    const scale = columns / this.grain / (to - from);

    // Each span begins where the one before it ended, at `x0`; `fills` fills most of `column` so far.
    let x0 = Math.max(0, (starts[i]! - from) * scale);
    let column = x0 | 0;
    let fills = values[i]!;
    let filled = 0;
    let met = 0;
    for (; i < beyond; i += 1) {
      const look = values[i]!;
      const x1 = ((i + 1 < beyond ? starts[i + 1]! : stop) - from) * scale;
      // As Math.floor, for what is not negative; this line is passed for every span of the window.
      const last = x1 | 0;
      if (last !== column) {
        this.push(column, column + 1, column + 1 - x0 > filled ? look : fills);
        if (last > column + 1) this.push(column + 1, last, look);
        column = last;
        filled = x1 - last;
        fills = look;
        met = 0;
      } else {
        if (x1 - x0 > filled) {
          filled = x1 - x0;
          fills = look;
        }
        met += 1;
        if (met > LOOKED_AT) {
          met = 0;
          // The next one to look at is the last that begins in this column.
          const skipped = after(starts, from + (column + 1) / scale, i + 1) - 2;
          if (skipped > i) {
            i = skipped;
            x0 = ((i + 1 < beyond ? starts[i + 1]! : stop) - from) * scale;
            continue;
          }
        }
      }
      x0 = x1;
    }
    if (filled > 0 && column * this.grain < columns) this.push(column, column + 1, fills);
  }

  // There are never more runs than columns.
  private reserve(columns: number): void {
    if (this.x0.length >= columns) return;
    this.x0 = new Int32Array(columns);
    this.x1 = new Int32Array(columns);
    this.looks = new Int32Array(columns);
  }

  private push(x0: number, x1: number, look: number): void {
    const last = this.count - 1;
    const end = Math.min(x1 * this.grain, this.columns);
    if (last >= 0 && this.looks[last] === look) this.x1[last] = end;
    else {
      this.x0[this.count] = x0 * this.grain;
      this.x1[this.count] = end;
      this.looks[this.count] = look;
      this.count += 1;
    }
  }
}
