import assert from "node:assert/strict";
import { test } from "node:test";
import { causes } from "../src/causes";
import { Lines } from "../src/lines";
import { readMessage, type Message } from "../src/message";
import { Model, type Limits } from "../src/model";
import { rates, useAt } from "../src/summary";

const read = (message: object): Message => readMessage(JSON.stringify(message))!;

const hello = (cpus: number, live = false) =>
  read({
    kind: "hello", version: 1, live, title: "t", policy: "equi", began_ms: null,
    cpus: Array.from({ length: cpus }, (_, cpu) => ({ cpu, node: 0, package: 0, core: cpu })),
    policies: ["equi", "dss"], may: { policy: true },
  });

const app = (number: number, more: object = {}) => ({
  app: number, name: `p${number}`, state: "running", count: 1, request: 2, min: 1, max: null, weight: 1,
  class: "fold", cpus: "0", shared: false, lent: false, why: "w", ...more,
});

const lookAt = (model: Model, row: number, t: number) => model.lookAt(model.rows[row]!, t);

const decision = (number: number, because: number | null, about: number | null = 1) => ({
  number, because, app: about, event: "e", rule: "r", section: "", action: "a", before: 0, after: 1,
});

function made(steps: object[], cpus = 2, limits?: Limits): Model {
  const model = new Model(limits);
  model.apply(hello(cpus));
  model.apply(read({ kind: "steps", steps }));
  return model;
}

test("what is no message is skipped", () => {
  for (const line of ["", "{", "3", "null", "[]", '{"kind":"new"}', '{"kind":"now"}', '{"kind":"status"}']) {
    assert.equal(readMessage(line), null, line);
  }
});

test("what a message lacks or has too much does no harm", () => {
  const message = readMessage(
    '{"kind":"steps","more":1,"steps":[3,{"t":"x"},{"t":5,"pus":[[0,"free",null],[1,2,3],["a"],[1,"odd",null,["x"]]],' +
      '"apps":[{"name":"no number"},{"app":1,"name":7}],"gone":["x",2],"decisions":[{"number":1},{}]}]}',
  );
  assert.ok(message?.kind === "steps");
  assert.equal(message.steps.length, 1);
  const [step] = message.steps;
  assert.deepEqual(step?.pus, [[0, "free", null]]);
  assert.deepEqual(step?.apps.map(({ app, name, weight }) => [app, name, weight]), [[1, "", 1]]);
  assert.deepEqual(step?.gone, [2]);
  assert.deepEqual(step?.decisions.map(({ number, because }) => [number, because]), [[1, null]]);
});

test("what a step does not name is as before", () => {
  const model = made([
    { t: 0, pus: [[0, "free", null], [1, "free", null]] },
    { t: 10, pus: [[0, "owned", 1]], apps: [app(1)] },
    { t: 20, pus: [[0, "owned", 1, [2]], [7, "owned", 1]] },
  ]);
  assert.deepEqual(model.rows[0]!.starts, [0, 10, 20]);
  assert.deepEqual(model.rows[1]!.starts, [0]);
  assert.equal(lookAt(model, 0, 19)?.owner, 1);
  assert.deepEqual(lookAt(model, 0, 20)?.guests, [2]);
  assert.equal(lookAt(model, 0, -1), undefined);
  assert.equal(model.spans, 4);
});

test("at the same time the later step counts, and time never runs back", () => {
  const model = made([
    { t: 0, pus: [[0, "free", null]] },
    { t: 5, pus: [[0, "owned", 1]] },
    { t: 5, pus: [[0, "owned", 2]] },
    { t: 3, pus: [[1, "owned", 2]] },
  ]);
  assert.equal(lookAt(model, 0, 5)?.owner, 2);
  assert.deepEqual(model.rows[1]!.starts, [5]);
});

test("equal looks are the same and make one span", () => {
  const model = made([{ t: 0, pus: [[0, "owned", 1], [1, "owned", 1]] }, { t: 5, pus: [[0, "owned", 1]] }]);
  assert.equal(model.rows[0]!.length, 1);
  assert.equal(model.rows[0]!.last, model.rows[1]!.last);
});

test("applications are known at each time", () => {
  const model = made([
    { t: 1, apps: [app(1), app(2)] },
    { t: 5, apps: [app(1, { count: 3 })] },
    { t: 9, gone: [1] },
  ]);
  const at = (t: number) => model.present(t).map(({ app, count }) => [app, count]);
  assert.deepEqual(at(0), []);
  assert.deepEqual(at(1), [[1, 1], [2, 1]]);
  assert.deepEqual(at(5), [[1, 3], [2, 1]]);
  assert.deepEqual(at(9), [[2, 1]]);
  assert.equal(model.latest(1)?.count, 3);
  assert.equal(model.nameOf(1), "p1");
  assert.equal(model.nameOf(77), "application 77");
});

test("a hello begins anew", () => {
  const model = made([{ t: 50, pus: [[0, "owned", 1]], apps: [app(1)], decisions: [decision(1, null)] }]);
  model.apply(hello(3));
  assert.equal(model.rows.length, 3);
  assert.deepEqual([model.spans, model.now, model.decisions.length, model.applications.size], [0, 0, 0, 0]);
});

test("a chain of causes begins with the first cause, and a circle ends", () => {
  const model = made([
    { t: 1, decisions: [decision(1, null)] },
    { t: 2, decisions: [decision(2, 1), decision(2, 1, 2)] },
    { t: 3, decisions: [decision(3, 2), decision(8, 9), decision(9, 8), decision(10, 5)] },
  ]);
  const chain = (number: number) => causes(number, (n) => model.decisionsOf(n)).map((cause) => cause.number);
  assert.deepEqual(chain(3), [1, 2, 3]);
  assert.equal(causes(3, (n) => model.decisionsOf(n))[1]!.effects.length, 2);
  assert.deepEqual(chain(8), [9, 8]);
  // Decision 5 is not known; it is named all the same.
  assert.deepEqual(chain(10), [5, 10]);
});

test("the decision that led to a span is the last one about its application", () => {
  const model = made([
    { t: 1, decisions: [decision(1, null)] },
    { t: 4, decisions: [decision(2, 1)] },
    { t: 6, decisions: [decision(3, 1, 2)] },
  ]);
  assert.equal(model.decisionFor(1, 6)?.number, 2);
  assert.equal(model.decisionFor(1, 3)?.number, 1);
  assert.equal(model.decisionFor(1, 0), null);
});

test("memory is bounded and what is left is right", () => {
  const limits = { keep: 1000, spans: 500, decisions: 100, states: 150 };
  const steps = Array.from({ length: 20_000 }, (_, i) => ({
    t: i,
    pus: [[i % 2, "owned", i >> 3]],
    apps: [app(i >> 3)],
    gone: i > 8 ? [(i >> 3) - 1] : [],
    decisions: [decision(i, i - 1, i >> 3)],
  }));
  const model = made(steps, 2, limits);
  assert.ok(model.spans <= 501, `${model.spans} spans`);
  assert.ok(model.decisions.length <= 101, `${model.decisions.length} decisions`);
  assert.ok(model.applications.size < 200, `${model.applications.size} applications`);
  const counted = (model: Model) => [...model.applications.values()].reduce((sum, { states }) => sum + states.length, 0);
  assert.equal(model.states, counted(model));
  // Wishes alone change no processor and decide nothing.
  const wishes = Array.from({ length: 20_000 }, (_, i) => ({ t: i, apps: [{ ...app(1), request: i }] }));
  const wished = made(wishes, 2, { ...limits, keep: Infinity });
  assert.ok(wished.states <= 151 && wished.states === counted(wished), `${wished.states} states`);
  assert.equal(model.spans, model.rows[0]!.length + model.rows[1]!.length);
  assert.equal(lookAt(model, 0, 19_999)?.owner, 19_998 >> 3);
  assert.ok(lookAt(model, 0, model.begin), "what covers the begin is kept");
  assert.ok(model.looks.length <= model.spans, "looks that no span has are forgotten");
  assert.equal(model.decisionsOf(3).length, 0);
  assert.equal(model.decisionsOf(19_999).length, 1);
  // Two applications that are known have never the same letter.
  const places = [...model.applications.values()].map(({ place }) => place);
  assert.equal(new Set(places).size, places.length);
});

test("what is in use is counted by owner and guests", () => {
  const pus = [[0, "owned", 1], [1, "free", null], [2, "unmanaged", null], [3, "offline", null]];
  const model = made([{ t: 0, pus }], 5);
  assert.deepEqual(useAt(model, 1), { used: 1, free: 1, outside: 1, unknown: 0, away: 2 });
});

test("what load outside keeps is not free, also where nobody says which processor it is", () => {
  const pus = [[0, "owned", 1], [1, "free", null]];
  const model = made([{ t: 0, pus }, { t: 10, unmanaged: 1 }, { t: 20, pus: [[1, "unmanaged", null]] }, { t: 30, unmanaged: 2 }]);
  assert.deepEqual(useAt(model, 9), { used: 1, free: 1, outside: 0, unknown: 0, away: 0 });
  assert.deepEqual(useAt(model, 10), { used: 1, free: 0, outside: 1, unknown: 1, away: 0 });
  assert.deepEqual(useAt(model, 20), { used: 1, free: 0, outside: 1, unknown: 0, away: 0 });
  assert.deepEqual(useAt(model, 30), { used: 1, free: 0, outside: 2, unknown: 1, away: 0 }, "a program runs beside it");
});

test("live letters are those of status, and what has ended goes by its number", () => {
  const model = new Model();
  model.apply(hello(2, true));
  model.apply(read({ kind: "steps", steps: [{ t: 0, apps: [app(1), app(2), app(3)] }, { t: 5, gone: [1] }] }));
  model.apply(read({ kind: "status", t: 5, apps: { 1: { letter: "A" }, 2: { letter: "A" } } }));
  assert.deepEqual([1, 2, 3].map((number) => model.signOf(number)), ["1", "A", "3"]);
  // In a recording nothing can be set: letters stay as they came.
  const file = made([{ t: 0, apps: [app(1), app(2)] }, { t: 5, gone: [1] }, { t: 6, apps: [app(3)] }]);
  assert.deepEqual([1, 2, 3].map((number) => file.signOf(number)), ["A", "B", "C"]);
});

test("the policies are known with the times of their begin", () => {
  const model = made([{ t: 0, policy: "equi" }, { t: 10, policy: "dss" }, { t: 20, policy: "dss" }, { t: 30, policy: "equi" }]);
  assert.deepEqual(model.policies.starts, [0, 10, 30]);
  assert.deepEqual([model.policies.at(29), model.policy], ["dss", "equi"]);
});

test("decisions a second count each number once", () => {
  const model = made([
    { t: 100_000, decisions: [decision(1, null), decision(1, null, 2)] },
    { t: 600_000, decisions: [decision(2, 1)] },
    { t: 700_000, decisions: [decision(3, 1)] },
  ]);
  assert.deepEqual(rates(model, 0, 1e6, 2), [2, 4]);
});

test("lines are put together from any pieces", () => {
  const bytes = new TextEncoder().encode("ä1\n\nzwei\r\ndrei");
  for (let size = 1; size < bytes.length; size += 1) {
    const lines = new Lines();
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...lines.push(bytes.subarray(at, at + size)));
    found.push(...lines.end());
    assert.deepEqual(found.map((line) => line.trim()), ["ä1", "zwei", "drei"]);
  }
});
