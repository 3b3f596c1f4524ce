import assert from "node:assert/strict";
import { test } from "node:test";
import { digits, marks, markStep, timeText } from "../src/axis";
import { change, inWordsOfTheForm } from "../src/changes";
import { pause } from "../src/connection";
import { bytes, lasting, short } from "../src/format";
import { layout, rowAt, timeAt } from "../src/layout";
import { contrast, hatched, letters, mark, mixed, PLACES, unword, word } from "../src/palette";
import { Runs } from "../src/runs";
import { Timeline } from "../src/timeline";
import { everything, following, panned, settled, showing, zoomed } from "../src/view";

function runs(...args: Parameters<Runs["take"]>) {
  const taken = new Runs();
  taken.take(...args);
  return Array.from({ length: taken.count }, (_, i) => ({ x0: taken.x0[i]!, x1: taken.x1[i]!, look: taken.looks[i]! }));
}

function line(spans: [number, number][]): Timeline<number> {
  const row = new Timeline<number>();
  for (const [t, value] of spans) row.set(t, value);
  return row;
}

test("runs cover the columns of their spans", () => {
  const [a, b] = [1, 2];
  const row = line([[0, a], [50, b], [75, a]]);
  const found = runs(row, 0, 100, 10, 100).map(({ x0, x1, look }) => [x0, x1, look]);
  // Column 7 is half of b and half of a: the first of them stays.
  assert.deepEqual(found, [[0, 5, 1], [5, 8, 2], [8, 10, 1]]);
});

test("runs end where nothing more is known and begin in the middle of spans", () => {
  const row = line([[0, 1], [50, 2]]);
  assert.deepEqual(runs(row, 20, 120, 100, 70).map(({ x0, x1 }) => [x0, x1]), [[0, 30], [30, 50]]);
  assert.deepEqual(runs(row, -100, 100, 100, 100).map(({ x0, x1 }) => [x0, x1]), [[50, 75], [75, 100]]);
  assert.deepEqual(runs(new Timeline<number>(), 0, 1, 10, 1), []);
});

test("a column shows what fills most of it, and runs never overlap", () => {
  const looks = [0, 1, 2];
  const row = new Timeline<number>();
  for (let i = 0; i < 50_000; i += 1) row.set(i * 10 + (i % 3), looks[i % 3]!);
  for (const [from, to] of [[0, 500_000], [123, 4567], [0, 40], [499_000, 500_100]] as const) {
    const found = runs(row, from, to, 300, 500_000);
    let x = 0;
    for (const run of found) {
      // Together without a gap; at the end of what is known the last columns may be too narrow to show.
      assert.equal(run.x0, x);
      assert.ok(run.x1 > run.x0 && run.x1 <= 300);
      x = run.x1;
    }
  }
  const most = line([[0, looks[0]!], [4, looks[1]!], [12, looks[2]!]]);
  assert.equal(runs(most, 0, 20, 1, 20)[0]?.look, looks[1]);
});

test("a refusal speaks of the fields of the form", () => {
  const refused = { good: false, text: "--min 5 is more than --max 3", next: "give --max 3, or --max none; no --minimal" };
  const { text, next } = inWordsOfTheForm(refused);
  assert.deepEqual([text, next], ["“at least” 5 is more than “at most” 3", "give “at most” 3, or an empty “at most”; no --minimal"]);
});

test("a pixel is the colour that it was made from", () => {
  for (const colour of ["#000000", "#ffffff", "#2f74d0", "#0102fe"]) assert.equal(unword(word(colour)), colour);
});

test("letters go on after Z", () => {
  assert.deepEqual([0, 25, 26, 51, 52, 701, 702].map(letters), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
});

test("every place looks different and stands out in both themes", () => {
  const seen = new Set<string>();
  for (let place = 0; place < PLACES; place += 1) {
    const { colour, hatch, ink } = mark(place);
    seen.add(`${colour} ${hatch}`);
    assert.ok(contrast(ink, colour) >= 4.5, `letter on ${colour}: ${contrast(ink, colour)}`);
    for (const lane of ["#e2e5ea", "#2a303a"]) {
      assert.ok(contrast(colour, lane) >= 2.4, `${colour} on ${lane}: ${contrast(colour, lane)}`);
    }
  }
  assert.equal(seen.size, PLACES);
});

test("each hatch but none has lines and leaves room between them", () => {
  for (const hatch of ["rising", "falling", "upright", "level", "grid", "dots"] as const) {
    let lines = 0;
    for (let x = 0; x < 60; x += 1) for (let y = 0; y < 60; y += 1) lines += hatched(hatch, x, y, 1) ? 1 : 0;
    assert.ok(lines > 300 && lines < 1500, `${hatch}: ${lines}`);
  }
  assert.equal(mixed("#000000", "#ffffff", 0.5), "#808080");
  assert.equal(word("#010203"), 0xff030201);
});

const live = { begin: 0, now: 600e6, live: true };
const file = { begin: 0, now: 600e6, live: false };

test("while now is followed zooming keeps it at the right edge", () => {
  const near = settled(zoomed(following(), live, 0.5, 0), live);
  assert.deepEqual([near.mode, near.from, near.to], ["follow", 540e6, 600e6]);
});

test("zooming keeps the time under the pointer and stops at all there is", () => {
  const near = zoomed(everything, file, 0.5, 150e6);
  assert.deepEqual([near.mode, near.from, near.to], ["fixed", 75e6, 375e6]);
  assert.equal(zoomed(near, file, 10, 100e6).mode, "all");
  const least = zoomed(near, file, 1e-12, 150e6);
  assert.ok(least.to - least.from >= 100);
});

test("panning back leaves now, panning against now follows it", () => {
  const back = panned(following(), live, -30e6);
  assert.deepEqual([back.mode, back.to], ["fixed", 570e6]);
  assert.equal(panned(back, live, 40e6).mode, "follow");
  assert.deepEqual(panned({ mode: "fixed", from: 0, to: 100e6 }, file, -50e6).from, 0);
  assert.equal(panned({ mode: "fixed", from: 500e6, to: 600e6 }, file, 50e6).to, 600e6);
});

test("a time outside of the window is brought into it", () => {
  assert.equal(showing(following(), live, 590e6).mode, "follow");
  const there = showing(following(), live, 100e6);
  assert.deepEqual([there.from, there.to], [40e6, 160e6]);
});

test("rows are as high as the room allows and grouped by node", () => {
  const cpus = (count: number, each: number) =>
    Array.from({ length: count }, (_, cpu) => ({ cpu, node: Math.floor(cpu / each), package: 0, core: cpu }));
  assert.equal(layout(cpus(2, 2), 1000, 500, 1, 12).rowHeight, 28);
  const large = layout(cpus(256, 64), 1000, 500, 1, 12);
  assert.equal(large.rowHeight, 3);
  assert.equal(large.groups.length, 4);
  assert.equal(rowAt(large, large.tops[100]! + 1), 100);
  assert.equal(rowAt(large, large.tops[64]! - 1), -1);
  assert.equal(timeAt(large, large.gutter, 5, 9), 5);
  assert.equal(timeAt(large, 1000, 5, 9), 9);
});

test("the axis has round times", () => {
  assert.equal(markStep(7e6), 10e6);
  assert.equal(markStep(3000), 5000);
  assert.equal(digits(5000), 3);
  assert.equal(digits(1e6), 0);
  assert.deepEqual(marks(0, 10e6, 5e6, null), [0, 5e6, 10e6]);
  assert.deepEqual(marks(0, 10e6, 5e6, 1000), [4e6, 9e6]);
  assert.equal(timeText(61_234_567, null, 1), "61.2 s");
  assert.match(timeText(1_234_567, 0, 3), /:01\.234$/);
  assert.match(timeText(59_999_999, 0, 0), /:59$/);
});

test("numbers are readable", () => {
  const lengths = [500, 1500, 2.5e6, 61e6, 3660e6].map(lasting);
  assert.deepEqual(lengths, ["500 µs", "1.5 ms", "2.5 s", "1 min 1 s", "1 h 1 min"]);
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(short("x".repeat(10_000), 5), "xxxx…");
  assert.equal(short("abc", 5), "abc");
  assert.equal(short("a\u202eb\u0000\n", 9), "a\ufffdb\ufffd\ufffd");
});

test("only what was changed is asked for", () => {
  const old = { min: 1, max: 8, weight: 1 };
  assert.equal(change(3, old, { min: "1", max: "8", weight: "1" }), null);
  assert.deepEqual(change(3, old, { min: "1", max: "", weight: "2" }), { app: 3, max: null, weight: 2 });
  assert.deepEqual(change(3, { ...old, max: null }, { min: "2", max: "4", weight: "" }), { app: 3, max: 4, min: 2 });
});

test("the pauses before a new try grow to ten seconds", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 9].map(pause), [1, 2, 4, 8, 10, 10]);
});
