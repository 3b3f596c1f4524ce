// Draws who has which processor. Owns the canvas and its pixels; what is drawn is told anew each time.
//
// The spans are written as pixels into one image, row by row: 256 rows with a thousand spans each are too many for
// the drawing commands of a canvas. Letters, axis and lines are few and drawn over it.

import { digits, markStep, marks, timeText } from "./axis";
import { short } from "./format";
import type { Layout } from "./layout";
import type { Model } from "./model";
import { unword, word } from "./palette";
import { Runs } from "./runs";
import { beginAt } from "./search";
import type { Theme } from "./theme";
import { fill, LEAST_HATCHED, level, Tones } from "./tones";

export interface Scene {
  model: Model;
  layout: Layout;
  from: number;
  to: number;
  /** Nothing is known after this time. */
  end: number;
  /** The application whose spans stand out. */
  chosen: number | null;
  /** The time of the chosen decision. */
  marked: number | null;
  pointed: { x: number; row: number } | null;
}

const LEAST_LETTER = 9;

/** Spans of several rows with the same begin, end and owner: they share one letter. */
interface Block {
  app: number;
  ink: string;
  x0: number;
  x1: number;
  first: number;
  last: number;
  /** Guests have the lower half of its rows; the colour of the upper half. */
  shared: string | null;
}

export class Occupancy {
  private readonly context: CanvasRenderingContext2D;
  private image: ImageData | null = null;
  private tones: Tones | null = null;
  private readonly runs = new Runs();
  private blocks: Block[] = [];
  /** What the image was drawn for. */
  private drawn: unknown[] = [];

  constructor(private readonly canvas: HTMLCanvasElement) {
    // The image comes from the processor each time: a canvas in the memory of a graphics card gains nothing.
    this.context = canvas.getContext("2d", { willReadFrequently: true })!;
  }

  draw(scene: Scene, theme: Theme): void {
    const { layout, model } = scene;
    this.size(layout);
    const known = this.tones;
    if (known?.theme !== theme || known.chosen !== scene.chosen || known.generation !== model.generation) {
      this.tones = new Tones(model, theme, scene.chosen);
    }
    // While only the pointer moves, the image of the spans is still right.
    const { from, to, end } = scene;
    const now = [from, to, end, model.version, layout, this.tones];
    if (!this.image || now.some((value, index) => value !== this.drawn[index])) this.blocks = this.spans(scene, theme);
    this.drawn = now;
    const left = Math.round(layout.gutter * layout.ratio);
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.fillStyle = theme.ground;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.context.putImageData(this.image!, left, 0);
    this.context.setTransform(layout.ratio, 0, 0, layout.ratio, 0, 0);
    this.labels(scene, theme);
    this.letters(scene, theme);
    this.axis(scene, theme, this.policies(scene, theme));
    this.lines(scene, theme);
  }

  private size({ width, height, ratio }: Layout): void {
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width === w && this.canvas.height === h) return;
    this.canvas.width = w;
    this.canvas.height = h;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.image = null;
  }

  private spans({ model, layout, from, to, end }: Scene, theme: Theme): Block[] {
    const { ratio, gutter, tops, rowHeight, gap, axis } = layout;
    const left = Math.round(gutter * ratio);
    const columns = Math.max(1, this.canvas.width - left);
    const lines = Math.max(1, Math.round((layout.height - axis) * ratio));
    if (!this.image || this.image.width !== columns || this.image.height !== lines) {
      this.image = new ImageData(columns, lines);
    }
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(word(theme.ground));
    const scale = Math.max(1, Math.round((ratio * layout.font) / 12));
    const tones = this.tones!;
    tones.prepare();
    const blocks: Block[] = [];
    let above = new Map<string, Block>();
    model.rows.forEach((row, index) => {
      const top = Math.round(tops[index]! * ratio);
      const bottom = Math.max(top + 1, Math.round((tops[index]! + rowHeight - gap) * ratio));
      this.runs.take(row, from, to, columns, end);
      paintRow(pixels, columns, this.runs, tones, top, bottom, scale);
      above = gather(this.runs, tones, index, above, blocks, layout);
    });
    return blocks;
  }

  private letters({ model, layout }: Scene, theme: Theme): void {
    const { context } = this;
    const { ratio, gutter, tops, rowHeight, gap, font } = layout;
    context.textBaseline = "middle";
    context.textAlign = "center";
    const bar = rowHeight - gap;
    for (const { app, ink, x0, x1, first, last, shared } of this.blocks) {
      // Beside guests only the upper half is its own, if that is high enough for a letter.
      const own = shared !== null && bar / 2 >= LEAST_LETTER ? bar / 2 : bar;
      const height = bar >= font ? own : tops[last]! + bar - tops[first]!;
      if (height < LEAST_LETTER) continue;
      // In the middle row rather than on the gap between two, where rows are high enough for a letter.
      const middle = (first + last) >> 1;
      const y = bar >= font ? tops[middle]! + own / 2 : (tops[first]! + tops[last]! + bar) / 2;
      const size = Math.min(font, height - 1);
      context.font = `600 ${size}px ${theme.family}`;
      const width = (x1 - x0) / ratio - 6;
      const letter = model.signOf(app);
      const named = width > size * 7 ? `${letter} · ${short(model.nameOf(app), 24)}` : letter;
      const text = context.measureText(named).width <= width ? named : letter;
      const wide = context.measureText(text).width;
      if (wide > width + 2) continue;
      if (shared !== null && (bar < font || own === bar)) {
        // In low rows it stands over the bands of guests: not without a ground of its own.
        context.fillStyle = shared;
        context.fillRect(gutter + (x0 + x1) / 2 / ratio - wide / 2 - 2, y - size / 2, wide + 4, size);
      }
      context.fillStyle = ink;
      context.fillText(text, gutter + (x0 + x1) / 2 / ratio, y + size * 0.06);
    }
  }

  private labels({ model, layout }: Scene, theme: Theme): void {
    const { context } = this;
    const { gutter, tops, rowHeight, gap, groups, font } = layout;
    const cpus = model.hello?.cpus ?? [];
    const size = Math.min(font * 0.86, Math.max(rowHeight, font * 0.75));
    const every = Math.max(1, Math.ceil((size * 1.15) / rowHeight));
    context.textBaseline = "middle";
    for (const { node, top, bottom, first, last } of groups) {
      context.fillStyle = theme.line;
      context.fillRect(gutter - 4, top, 2, bottom - top - gap);
      context.textAlign = "right";
      context.fillStyle = theme.dim;
      context.font = `${size}px ${theme.family}`;
      for (let index = first; index <= last; index += every) {
        const y = Math.max(tops[index]! + (rowHeight - gap) / 2, top + size / 2);
        context.fillText(String(cpus[index]?.cpu ?? index), gutter - 8, y);
      }
      if (groups.length < 2) continue;
      context.textAlign = "left";
      context.fillStyle = theme.ink;
      context.font = `600 ${Math.min(font, Math.max(bottom - top, font * 0.75))}px ${theme.family}`;
      context.fillText(`node ${node}`, 0, (top + bottom - gap) / 2);
    }
  }

  /** `taken`: from where to where something else is written there. */
  private axis({ model, layout, from, to }: Scene, theme: Theme, taken: [number, number][]): void {
    const { context } = this;
    const { gutter, width, height, axis, font } = layout;
    const plot = Math.max(1, width - gutter);
    const began = model.hello?.beganMs ?? null;
    const step = markStep(((to - from) / plot) * font * 7);
    context.font = `${font * 0.86}px ${theme.family}`;
    context.textBaseline = "middle";
    const y = height - axis;
    context.fillStyle = theme.line;
    context.fillRect(gutter, y, plot, 1);
    for (const t of marks(from, to, step, began)) {
      const x = gutter + ((t - from) / (to - from)) * plot;
      const text = timeText(t, began, digits(step));
      const half = context.measureText(text).width / 2;
      context.fillStyle = theme.line;
      context.fillRect(Math.round(x), y, 1, 5);
      const middle = Math.min(Math.max(x, gutter + half), width - half);
      if (taken.some(([left, right]) => middle - half < right && middle + half > left)) continue;
      context.fillStyle = theme.dim;
      context.textAlign = "center";
      context.fillText(text, middle, y + axis / 2 + 2);
    }
  }

  /** When the policy was switched, and to which. Answers from where to where names are written. */
  private policies({ model, layout, from, to }: Scene, theme: Theme): [number, number][] {
    const { context } = this;
    const { gutter, width, height, axis, font } = layout;
    const { starts, values } = model.policies;
    const y = height - axis;
    context.font = `600 ${font * 0.86}px ${theme.family}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    const taken: [number, number][] = [];
    let free = gutter;
    // The first one is that of the begin: nobody switched to it.
    for (let i = Math.max(1, beginAt(starts, from, 0)); i < starts.length && starts[i]! <= to; i += 1) {
      const x = Math.round(gutter + ((starts[i]! - from) / (to - from)) * (width - gutter));
      context.fillStyle = theme.ink;
      for (let top = 0; top < y; top += 6) context.fillRect(x, top, 1, 3);
      context.beginPath();
      context.moveTo(x + 0.5, y + 1);
      context.lineTo(x + 5.5, y + 7);
      context.lineTo(x - 4.5, y + 7);
      context.fill();
      const name = short(values[i]!, 24);
      const wide = context.measureText(name).width;
      const left = Math.min(x + 7, width - wide);
      if (left < free) continue;
      context.fillText(name, left, y + axis / 2 + 2);
      free = left + wide + 6;
      taken.push([left - 12, free]);
    }
    return taken;
  }

  private lines({ layout, from, to, marked, pointed }: Scene, theme: Theme): void {
    const { context } = this;
    const { gutter, width, height, axis, tops, rowHeight, gap } = layout;
    const bottom = height - axis;
    if (pointed && pointed.x >= gutter) {
      context.fillStyle = theme.ink;
      context.globalAlpha = 0.45;
      context.fillRect(Math.round(pointed.x), 0, 1, bottom);
      context.globalAlpha = 1;
    }
    if (pointed && pointed.row >= 0) {
      context.strokeStyle = theme.ink;
      context.lineWidth = 1;
      context.strokeRect(gutter + 0.5, tops[pointed.row]! - 0.5, width - gutter - 1, rowHeight - gap + 1);
    }
    if (marked === null || marked < from || marked > to) return;
    const x = Math.round(gutter + ((marked - from) / (to - from)) * (width - gutter));
    // The light rim keeps the line visible on spans of its own colour.
    context.fillStyle = theme.ground;
    context.fillRect(x - 2, 0, 5, bottom);
    context.fillStyle = theme.accent;
    context.fillRect(x - 1, 0, 3, bottom);
    context.beginPath();
    context.moveTo(x + 0.5, bottom);
    context.lineTo(x + 7.5, bottom + 9);
    context.lineTo(x - 6.5, bottom + 9);
    context.fill();
  }
}

// The runs of a row of which the base is not all; kept for the next row to be used again.
const special: number[] = [];

/** Writes the runs of one row into its lines, from `top` to `bottom`. */
function paintRow(
  pixels: Uint32Array, stride: number, { count, x0, x1, looks }: Runs, tones: Tones, top: number, bottom: number,
  scale: number,
): void {
  // The first line is written, the others are copies of it; then what is not the same in each line is put over.
  const start = top * stride;
  const least = LEAST_HATCHED * scale;
  special.length = 0;
  for (let i = 0; i < count; i += 1) {
    const look = looks[i]!;
    const begin = start + x0[i]!;
    const end = start + x1[i]!;
    level(pixels, begin, end, tones.base(look));
    const extra = tones.extra(look);
    if (extra === 2 || (extra === 1 && end - begin >= least)) special.push(i);
  }
  for (let y = top + 1; y < bottom; y += 1) pixels.copyWithin(y * stride, start, start + stride);
  for (const i of special) {
    const paint = tones.of(looks[i]!);
    const { bands, full } = paint;
    if (paint.hatch !== "none" && x1[i]! - x0[i]! >= least) {
      fill(pixels, stride, x0[i]!, x1[i]!, top, bottom, paint, scale);
    }
    const begin = full ? top : Math.ceil((top + bottom) / 2);
    for (let band = 0; band < bands.length; band += 1) {
      const y0 = begin + Math.round(((bottom - begin) * band) / bands.length);
      const y1 = begin + Math.round(((bottom - begin) * (band + 1)) / bands.length);
      fill(pixels, stride, x0[i]!, x1[i]!, y0, y1, bands[band]!, scale);
    }
  }
}

/** Adds the runs of a row to the blocks; `above` are the blocks that reach down to the row before it. */
function gather(
  { count, x0, x1, looks }: Runs, tones: Tones, index: number, above: Map<string, Block>, blocks: Block[],
  { font, ratio, groups }: Layout,
): Map<string, Block> {
  const here = new Map<string, Block>();
  const least = font * ratio;
  const begins = groups.some(({ first }) => first === index);
  for (let i = 0; i < count; i += 1) {
    if (x1[i]! - x0[i]! < least) continue;
    const { app, ink, bands, full, base } = tones.of(looks[i]!);
    if (app === null) continue;
    const shared = bands.length > 0 && !full ? unword(base) : null;
    const key = `${app} ${x0[i]} ${x1[i]} ${ink} ${shared}`;
    let block = begins ? undefined : above.get(key);
    if (block) block.last = index;
    else {
      block = { app, ink, x0: x0[i]!, x1: x1[i]!, first: index, last: index, shared };
      blocks.push(block);
    }
    here.set(key, block);
  }
  return here;
}
