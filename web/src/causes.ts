// Follows a decision back to its first cause. Owns nothing.

import type { Decision } from "./message";

export interface Cause {
  number: number;
  /** Empty: the decision is no longer known. */
  effects: readonly Decision[];
}

/** The chain that ends with decision `number`, first cause first. */
export function causes(number: number, decisionsOf: (number: number) => readonly Decision[]): Cause[] {
  const chain: Cause[] = [];
  // A chain that bites its own tail must not hang the page.
  const seen = new Set<number>();
  let next: number | null = number;
  while (next !== null && !seen.has(next)) {
    seen.add(next);
    const effects = decisionsOf(next);
    chain.push({ number: next, effects });
    next = effects.find(({ because }) => because !== null)?.because ?? null;
  }
  return chain.reverse();
}
