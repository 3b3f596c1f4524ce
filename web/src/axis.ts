// The marks of the time axis and how times are written. Owns nothing; pure.

const SECOND = 1e6;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

/** The distance between two marks, in microseconds, if they shall be at least `least` microseconds apart. */
export function markStep(least: number): number {
  if (least >= SECOND) {
    return (STEPS.find((step) => step * SECOND >= least) ?? Math.ceil(least / SECOND / 86400) * 86400) * SECOND;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least) ?? SECOND;
}

/** Times between `from` and `to` that are whole multiples of `step` on the wall clock, or since the begin. */
export function marks(from: number, to: number, step: number, beganMs: number | null): number[] {
  const shift = beganMs === null ? 0 : beganMs * 1000 - new Date(beganMs).getTimezoneOffset() * 60 * SECOND;
  const found: number[] = [];
  for (let at = Math.ceil((from + shift) / step) * step; at <= to + shift; at += step) {
    const t = at - shift;
    if (t >= 0) found.push(t);
  }
  return found;
}

/** How many digits after the second are needed to tell times `step` microseconds apart. */
export function digits(step: number): number {
  return step >= SECOND ? 0 : Math.min(6, Math.ceil(-Math.log10(step / SECOND) - 1e-9));
}

/** The time of day, or seconds since the begin if the time of day is unknown. */
export function timeText(t: number, beganMs: number | null, places: number): string {
  // Cut, not rounded: a clock shows 59 until the minute is over.
  const unit = 10 ** (6 - places);
  if (beganMs === null) {
    const sign = t < 0 ? "−" : "";
    return `${sign}${(Math.floor(Math.abs(t) / unit) / 10 ** places).toFixed(places)} s`;
  }
  const micros = Math.floor((beganMs * 1000 + t) / unit) * unit;
  const date = new Date(micros / 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (places === 0) return clock;
  const rest = Math.round(((micros % SECOND) + SECOND) % SECOND);
  return `${clock}.${String(rest).padStart(6, "0").slice(0, places)}`;
}
