// What is counted from the model for one time or one window. Owns nothing; pure.

import type { Model } from "./model";
import { afterTime } from "./search";

export interface Use {
  used: number;
  free: number;
  outside: number;
  /** How many of those that load outside keeps busy nobody can name. */
  unknown: number;
  /** Reserved or offline. */
  away: number;
}

export function useAt(model: Model, t: number): Use {
  const use: Use = { used: 0, free: 0, outside: 0, unknown: 0, away: 0 };
  for (const row of model.rows) {
    const look = model.lookAt(row, t);
    if (!look || look.state === "reserved" || look.state === "offline") use.away += 1;
    else if (look.owner !== null || look.guests.length > 0) use.used += 1;
    else if (look.state === "unmanaged") use.outside += 1;
    else if (look.state === "free" || look.state === "idle") use.free += 1;
    else use.used += 1;
  }
  // The load is counted, but not always seen in a row. What it keeps is not free.
  use.unknown = Math.max(0, (model.outside.at(t) ?? 0) - use.outside);
  use.outside += use.unknown;
  use.free = Math.max(0, use.free - use.unknown);
  return use;
}

/** How many decisions a second there were in each of `bins` equal parts of the window. */
export function rates({ decisions }: Model, from: number, to: number, bins: number): number[] {
  const counts = new Array<number>(bins).fill(0);
  const width = (to - from) / bins;
  let last: number | null = null;
  for (let i = afterTime(decisions, from - 1); i < decisions.length && decisions[i]!.t < to; i += 1) {
    // One decision may have several entries, one after the other.
    if (decisions[i]!.number !== last) counts[Math.min(bins - 1, Math.floor((decisions[i]!.t - from) / width))]! += 1;
    last = decisions[i]!.number;
  }
  return counts.map((count) => count / (width / 1e6));
}
