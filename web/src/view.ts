// The part of time that is shown. Owns the rules of zooming and panning; the board keeps the one view there is.
// All functions are pure: they answer a new view.

export interface View {
  /** follow: the right edge is now. all: everything that is known. fixed: from `from` to `to`. */
  readonly mode: "follow" | "all" | "fixed";
  readonly from: number;
  readonly to: number;
}

export interface Bounds {
  readonly begin: number;
  readonly now: number;
  readonly live: boolean;
}

const LEAST = 200;
export const FIRST = 120e6;

export const following = (width = FIRST): View => ({ mode: "follow", from: -width, to: 0 });
export const everything: View = { mode: "all", from: 0, to: 0 };

/** The view with `from` and `to` as they are now. */
export function settled(view: View, { begin, now }: Bounds): View {
  if (view.mode === "fixed") return view;
  const width = view.mode === "follow" ? view.to - view.from : Math.max(now - begin, LEAST);
  return { mode: view.mode, from: now - width, to: now };
}

/** Makes the window `factor` times as wide; the time `at` stays where it is, or now does while it is followed. */
export function zoomed(view: View, bounds: Bounds, factor: number, at: number): View {
  const { mode, from, to } = settled(view, bounds);
  const most = Math.max(bounds.now - bounds.begin, bounds.live ? FIRST : LEAST);
  const width = Math.min(Math.max((to - from) * factor, LEAST), most);
  if (mode === "follow") return following(width);
  if (width >= most) return everything;
  const share = (at - from) / (to - from);
  return placed(at - share * width, width, bounds, false);
}

/** Moves the window by `by` microseconds. */
export function panned(view: View, bounds: Bounds, by: number): View {
  const { from, to } = settled(view, bounds);
  return by === 0 ? view : placed(from + by, to - from, bounds, by > 0);
}

/** A window around `t`, as wide as it was, if `t` is not in it already. */
export function showing(view: View, bounds: Bounds, t: number): View {
  const { from, to } = settled(view, bounds);
  return t >= from && t <= to ? view : placed(t - (to - from) / 2, to - from, bounds, false);
}

// A live window that is pushed against now follows it from then on.
function placed(from: number, width: number, { begin, now, live }: Bounds, mayFollow: boolean): View {
  if (from + width >= now) return live && mayFollow ? following(width) : fixed(now - width, width);
  return fixed(Math.max(from, Math.min(begin, now - width)), width);
}

const fixed = (from: number, width: number): View => ({ mode: "fixed", from, to: from + width });
