// Where everything stands in the picture of the processors, in CSS pixels. Owns nothing; pure.

import type { Cpu } from "./message";

export interface Layout {
  width: number;
  height: number;
  /** Device pixels to one CSS pixel. */
  ratio: number;
  font: number;
  gutter: number;
  axis: number;
  rowHeight: number;
  /** Space between two rows, part of their height. */
  gap: number;
  /** Upper edge of each row. */
  tops: number[];
  groups: { node: number; top: number; bottom: number; first: number; last: number }[];
}

const LEAST_ROW = 3;
const MOST_ROW = 28;

export function layout(cpus: readonly Cpu[], width: number, room: number, ratio: number, font: number): Layout {
  const nodes = new Set(cpus.map(({ node }) => node)).size;
  const axis = Math.ceil(font * 1.8);
  // A node with few low rows must still have room for its label.
  const between = nodes > 1 ? Math.ceil(font * 0.6) : 0;
  const rows = Math.max(cpus.length, 1);
  const fits = Math.floor((room - axis - between * (nodes - 1)) / rows);
  const rowHeight = Math.min(Math.max(fits, LEAST_ROW), Math.max(MOST_ROW, Math.round(font * 2)));
  const tops: number[] = [];
  const groups: Layout["groups"] = [];
  let y = 0;
  cpus.forEach(({ node }, index) => {
    const group = groups[groups.length - 1];
    if (group && group.node === node) group.last = index;
    else {
      if (group) y += between;
      groups.push({ node, top: y, bottom: y, first: index, last: index });
    }
    tops.push(y);
    y += rowHeight;
    groups[groups.length - 1]!.bottom = y;
  });
  return {
    width,
    height: y + axis,
    ratio,
    font,
    gutter: Math.ceil(font * (nodes > 1 ? 7.4 : 4.6)),
    axis,
    rowHeight,
    gap: rowHeight >= 20 ? 3 : rowHeight >= 8 ? 1 : 0,
    tops,
    groups,
  };
}

/** The row at height `y`; -1 between and below the rows. */
export function rowAt({ tops, rowHeight }: Layout, y: number): number {
  return tops.findIndex((top) => y >= top && y < top + rowHeight);
}

/** Whether the height `y` is in the half of its row where guests are drawn. */
export function inBand({ tops, rowHeight, gap }: Layout, row: number, y: number): boolean {
  return y >= tops[row]! + (rowHeight - gap) / 2;
}

/** The time at `x`. */
export function timeAt({ gutter, width }: Layout, x: number, from: number, to: number): number {
  return from + ((x - gutter) / Math.max(1, width - gutter)) * (to - from);
}
