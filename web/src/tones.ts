// How a look is painted: colours and hatches as pixel words. Owns the paints of one theme and one choice.

import type { Look, Model } from "./model";
import { hatched, inkOn, mark, mixed, word, type Hatch } from "./palette";
import type { Theme } from "./theme";

export interface Tone {
  base: number;
  line: number;
  hatch: Hatch;
}

export interface Paint extends Tone {
  /** Guests: bands in the lower half, or over the whole height where nobody is the owner. */
  bands: Tone[];
  full: boolean;
  /** The application whose letter stands here, and the colour of the letter. */
  app: number | null;
  ink: string;
}

export class Tones {
  readonly generation: number;
  private readonly applications = new Map<string, { tone: Tone; ink: string }>();

  // By index of the look. What most runs need, the base, stands alone and close together, or a picture of a hundred
  // thousand runs would wait for the memory as many times.
  private paints: (Paint | undefined)[] = [];
  private bases = new Uint32Array(0);
  private extras = new Uint8Array(0);

  constructor(
    private readonly model: Model,
    readonly theme: Theme,
    readonly chosen: number | null,
  ) {
    this.generation = model.generation;
  }

  of(look: number): Paint {
    let paint = this.paints[look];
    if (!paint) {
      paint = this.make(this.model.looks[look]!);
      this.paints[look] = paint;
    }
    return paint;
  }

  /** Makes room for the looks that came since, before `base` and `extra` are asked. */
  prepare(): void {
    const known = this.paints.length;
    const { length } = this.model.looks;
    if (length > this.bases.length) {
      const [bases, extras] = [this.bases, this.extras];
      this.bases = new Uint32Array(length * 2);
      this.extras = new Uint8Array(length * 2);
      this.bases.set(bases);
      this.extras.set(extras);
    }
    for (let look = known; look < length; look += 1) {
      const { base, hatch, bands } = this.of(look);
      this.bases[look] = base;
      this.extras[look] = bands.length > 0 ? 2 : hatch === "none" ? 0 : 1;
    }
  }

  base(look: number): number {
    return this.bases[look]!;
  }

  /** What there is besides the base: 0 nothing, 1 a hatch, 2 bands and perhaps a hatch. */
  extra(look: number): number {
    return this.extras[look]!;
  }

  private make({ state, owner, guests }: Look): Paint {
    const others = guests.filter((guest) => guest !== owner).slice(0, 3);
    const bands = others.map((guest) => this.application(guest, 1).tone);
    if (owner !== null) {
      const { tone, ink } = this.application(owner, state === "leaving" ? 0.45 : state === "idle" ? 0.7 : 1);
      return { ...tone, bands, full: false, app: owner, ink };
    }
    const ink = this.theme.ink;
    if (bands.length > 0) {
      const { ink: letter } = this.application(others[0]!, 1);
      return { ...plain(this.theme.lane), bands, full: true, app: bands.length === 1 ? others[0]! : null, ink: letter };
    }
    return { ...this.nobody(state), bands, full: false, app: null, ink };
  }

  private nobody(state: string): Tone {
    const { lane, outside, away } = this.theme;
    switch (state) {
      case "free":
      case "idle":
        return plain(lane);
      case "reserved":
        return plain(away);
      case "offline":
        return { base: word(away), line: word(mixed(away, lane, 0.6)), hatch: "grid" };
      case "unmanaged":
        return { base: word(lane), line: word(outside), hatch: "rising" };
      default:
        // A state that this page does not know: seen to be something, named by the tooltip.
        return { base: word(lane), line: word(outside), hatch: "dots" };
    }
  }

  private application(number: number, strength: number): { tone: Tone; ink: string } {
    const { place } = this.model.application(number);
    const other = this.chosen !== null && this.chosen !== number;
    const key = `${place} ${strength} ${other}`;
    let made = this.applications.get(key);
    if (!made) {
      const { colour, hatch } = mark(place);
      const shown = mixed(colour, this.theme.lane, other ? strength * 0.25 : strength);
      const ink = inkOn(shown);
      const tone = { base: word(shown), line: word(mixed(ink, shown, other ? 0.18 : 0.38)), hatch };
      made = { tone, ink: other ? mixed(ink, shown, 0.6) : ink };
      this.applications.set(key, made);
    }
    return made;
  }
}

const plain = (colour: string): Tone => ({ base: word(colour), line: 0, hatch: "none" });

/** Sets the pixels from `begin` to `end`. Most runs are a pixel or two, and a call of `fill` costs more than those. */
export function level(pixels: Uint32Array, begin: number, end: number, base: number): void {
  if (end - begin < 24) for (let at = begin; at < end; at += 1) pixels[at] = base;
  else pixels.fill(base, begin, end);
}

/** The narrowest run, in lines of a hatch, in which one can be seen. */
export const LEAST_HATCHED = 6;

// After so many lines each hatch begins anew.
const PERIOD = 60;
// All of one scale: that of the screen, which changes when the page is moved to another.
const tiles = new Map<Hatch, Uint8Array>();
let tileScale = 0;

function tileOf(hatch: Hatch, scale: number): Uint8Array {
  if (scale !== tileScale) tiles.clear();
  tileScale = scale;
  let tile = tiles.get(hatch);
  if (!tile) {
    const size = PERIOD * scale;
    tile = new Uint8Array(size * size);
    for (let i = 0; i < tile.length; i += 1) tile[i] = hatched(hatch, i % size, Math.floor(i / size), scale) ? 1 : 0;
    tiles.set(hatch, tile);
  }
  return tile;
}

/** Fills the columns x0…x1 of the lines y0…y1 of an image `stride` pixels wide. */
export function fill(
  pixels: Uint32Array, stride: number, x0: number, x1: number, y0: number, y1: number, tone: Tone, scale: number,
): void {
  const { base, line, hatch } = tone;
  if (hatch === "none" || x1 - x0 < LEAST_HATCHED * scale) {
    for (let y = y0; y < y1; y += 1) level(pixels, y * stride + x0, y * stride + x1, base);
    return;
  }
  const tile = tileOf(hatch, scale);
  const size = PERIOD * scale;
  for (let y = y0; y < y1; y += 1) {
    const begin = (y % size) * size;
    let column = x0 % size;
    for (let at = y * stride + x0; at < y * stride + x1; at += 1) {
      pixels[at] = tile[begin + column] === 1 ? line : base;
      column = column + 1 === size ? 0 : column + 1;
    }
  }
}
