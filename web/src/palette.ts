// Colours and patterns of the applications, by their place, and letters of a recording. Owns the palette; both themes use the same
// colours, which stand out (3:1) against white as well as against the dark background: see the test.

/** What stands over the plain colour, as seen in steps of one line of the hatch. */
export type Hatch = "none" | "rising" | "falling" | "upright" | "level" | "grid" | "dots";

export interface Mark {
  colour: string;
  hatch: Hatch;
  /** Colour of letters and hatch lines on `colour`. */
  ink: string;
}

// Neighbours differ in lightness as well as in hue, for eyes that see few hues.
const COLOURS = [
  "#2f74d0", "#d97a16", "#15795f", "#c04fd0", "#7d8c1c", "#8459d0",
  "#1f97a8", "#b8402f", "#8a8f98", "#5b6cc6", "#b07a3c", "#bb4a80",
];
const HATCHES: Hatch[] = ["none", "rising", "upright", "falling", "level", "grid", "dots"];

export const PLACES = COLOURS.length * HATCHES.length;

/** A, B, … Z, AA, AB, … */
export function letters(place: number): string {
  const last = String.fromCharCode(65 + (place % 26));
  return place < 26 ? last : letters(Math.floor(place / 26) - 1) + last;
}

export function mark(place: number): Mark {
  const colour = COLOURS[place % COLOURS.length]!;
  const hatch = HATCHES[Math.floor(place / COLOURS.length) % HATCHES.length]!;
  return { colour, hatch, ink: inkOn(colour) };
}

/** Whether the hatch has a line at this pixel; `scale` is the width of a line. */
export function hatched(hatch: Hatch, x: number, y: number, scale: number): boolean {
  const across = Math.floor(x / scale);
  const down = Math.floor(y / scale);
  switch (hatch) {
    case "none":
      return false;
    case "rising":
      return (across + down) % 6 === 0;
    case "falling":
      return (across - down + 6000) % 6 === 0;
    case "upright":
      return across % 5 === 0;
    case "level":
      return down % 4 === 0;
    case "grid":
      return across % 6 === 0 || down % 6 === 0;
    case "dots":
      return across % 4 < 2 && down % 4 < 2;
  }
}

/** Relative luminance as WCAG defines it, of a colour written #rrggbb. */
export function luminance(colour: string): number {
  const [r, g, b] = channels(colour).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

export function inkOn(colour: string): string {
  return contrast(colour, "#ffffff") >= contrast(colour, "#000000") ? "#ffffff" : "#000000";
}

/** `share` of `a` and the rest of `b`. */
export function mixed(a: string, b: string, share: number): string {
  const other = channels(b);
  const parts = channels(a).map((value, i) => Math.round(value * share + other[i]! * (1 - share)));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The colour as one little-endian RGBA word, as ImageData wants it. */
export function word(colour: string): number {
  const [r, g, b] = channels(colour) as [number, number, number];
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

/** The colour of such a word. */
export function unword(pixel: number): string {
  const [r, g, b] = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  return `#${[r, g, b].map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}
