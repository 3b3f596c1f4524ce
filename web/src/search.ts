// Binary search in lists that are in order of time. It owns nothing.

/** The first index whose value is greater than `t`; the length if there is none. */
export function after(values: readonly number[], t: number, low = 0): number {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first index from `low` on whose value is not less than `t`; the length if there is none. */
export function beginAt(values: readonly number[], t: number, low: number): number {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As `after`, for objects with a time. */
export function afterTime(items: readonly { t: number }[], t: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (items[middle]!.t <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}
