// What is known: who had which processor when, the applications, the decisions and their causes, the latest status.
// Owns all of it; nothing here draws or talks to anyone. Memory is bounded: see `Limits`.

import type { App, AppStatus, Decision, Hello, Message, Pu, Status, Step } from "./message";
import { letters } from "./palette";
import { afterTime } from "./search";
import { Timeline } from "./timeline";

/** What a processor is for and to whom. Spans name it by its index in `looks`; equal looks have the same index. */
export interface Look {
  readonly state: string;
  readonly owner: number | null;
  readonly guests: readonly number[];
}

export interface Application {
  readonly number: number;
  /** Place in the palette; given back when the application is forgotten. */
  readonly place: number;
  readonly states: Timeline<App | null>;
}

export interface Limits {
  /** Microseconds of the past that are kept. */
  keep: number;
  spans: number;
  decisions: number;
  /** Of all applications together. */
  states: number;
}

const LIVE: Limits = { keep: 3600e6, spans: 3_000_000, decisions: 100_000, states: 200_000 };
const FILE: Limits = { keep: Infinity, spans: Infinity, decisions: Infinity, states: Infinity };
const NOBODY: readonly number[] = [];

export class Model {
  hello: Hello | null = null;
  /** For each processor the indexes of its looks: numbers, since hundreds of thousands are gone through to draw. */
  rows: Timeline<number>[] = [];
  looks: Look[] = [];
  /** Grows when the indexes of looks or the places of applications mean something else than before. */
  generation = 0;
  applications = new Map<number, Application>();
  decisions: Decision[] = [];
  policy = "";
  /** The policy since when, as far back as it is known. */
  policies = new Timeline<string>();
  /** How many processors load outside keeps busy, also where nobody says which. */
  outside = new Timeline<number>();
  status: Status | null = null;
  /** The latest time that was heard of, and the earliest that is still known. */
  now = 0;
  begin = 0;
  spans = 0;
  states = 0;
  /** Grows with each change other than the passing of time. */
  version = 0;

  private byNumber = new Map<number, Decision[]>();
  private lookIndex = new Map<string, number>();
  /** The places that are taken; none below `lowest` is free. */
  private places = new Set<number>();
  private lowest = 0;
  private limits = LIVE;

  constructor(private readonly fixed?: Limits) {}

  apply(message: Message): void {
    switch (message.kind) {
      case "hello":
        this.reset(message);
        break;
      case "steps":
        for (const step of message.steps) this.step(step);
        break;
      case "status":
        this.status = message;
        this.pass(message.t);
        break;
      case "now":
        this.pass(message.t);
        return;
      case "lost":
        return;
    }
    this.version += 1;
  }

  /** The application with this number; one that was never described gets a place all the same. */
  application(number: number): Application {
    let known = this.applications.get(number);
    if (!known) {
      let place = this.lowest;
      while (this.places.has(place)) place += 1;
      this.lowest = place + 1;
      this.places.add(place);
      known = { number, place, states: new Timeline() };
      this.applications.set(number, known);
    }
    return known;
  }

  /**
   * What an application is called in a small place. Live it is the letter that `numaestro set` takes now; one that
   * has ended, whose letter another one may have, goes by its number. In a recording letters go by arrival.
   */
  signOf(number: number): string {
    if (!this.hello?.live) return letters(this.application(number).place);
    const there = this.applications.get(number)?.states.last;
    return (there && this.statusOf(number)?.letter) || String(number);
  }

  nameOf(number: number): string {
    const states = this.applications.get(number)?.states.values ?? [];
    for (let i = states.length - 1; i >= 0; i -= 1) {
      const name = states[i]?.name;
      if (name) return name;
    }
    return `application ${number}`;
  }

  /** The look of the processor in this row at `t`. */
  lookAt(row: Timeline<number>, t: number): Look | undefined {
    const index = row.at(t);
    return index === undefined ? undefined : this.looks[index];
  }

  /** The applications that were there at `t`, in order of their places. */
  present(t: number): App[] {
    const there: { place: number; app: App }[] = [];
    for (const { place, states } of this.applications.values()) {
      const app = states.at(t);
      if (app) there.push({ place, app });
    }
    return there.sort((a, b) => a.place - b.place).map(({ app }) => app);
  }

  /** The last state of an application that may have gone. */
  latest(number: number): App | null {
    const states = this.applications.get(number)?.states.values ?? [];
    return states.findLast((state) => state !== null) ?? null;
  }

  statusOf(number: number): AppStatus | undefined {
    return this.status?.apps.get(number);
  }

  /** All that decision `number` did, in order. */
  decisionsOf(number: number): readonly Decision[] {
    return this.byNumber.get(number) ?? [];
  }

  /** The decision that led to what application `app` has at `t`: the last one about it, at or before `t`. */
  decisionFor(app: number, t: number): Decision | null {
    for (let i = afterTime(this.decisions, t) - 1; i >= 0; i -= 1) {
      if (this.decisions[i]!.app === app) return this.decisions[i]!;
    }
    return null;
  }

  private reset(hello: Hello): void {
    this.hello = hello;
    this.limits = this.fixed ?? (hello.live ? LIVE : FILE);
    this.rows = hello.cpus.map(() => new Timeline<number>());
    this.applications = new Map();
    this.decisions = [];
    this.byNumber = new Map();
    this.looks = [];
    this.lookIndex = new Map();
    this.generation += 1;
    this.places = new Set();
    this.lowest = 0;
    this.policy = hello.policy;
    this.policies = new Timeline();
    this.policies.set(0, hello.policy);
    this.outside = new Timeline();
    this.status = null;
    this.now = 0;
    this.begin = 0;
    this.spans = 0;
    this.states = 0;
  }

  private step(step: Step): void {
    // Time never runs back, or the search by halves would fail.
    const t = Math.max(step.t, this.now);
    for (const pu of step.pus) {
      const row = this.rows[pu[0]];
      if (row) this.spans += row.set(t, this.look(pu));
    }
    for (const app of step.apps) this.describe(t, app);
    for (const number of step.gone) this.states += this.application(number).states.set(t, null);
    for (const decision of step.decisions) {
      if (decision.app !== null) this.application(decision.app);
      decision.t = t;
      this.decisions.push(decision);
      const entries = this.byNumber.get(decision.number);
      if (entries) entries.push(decision);
      else this.byNumber.set(decision.number, [decision]);
    }
    if (step.policy !== null) {
      this.policy = step.policy;
      this.policies.set(t, step.policy);
    }
    if (step.unmanaged !== null) this.outside.set(t, step.unmanaged);
    this.pass(t);
  }

  private describe(t: number, app: App): void {
    const { states } = this.application(app.app);
    // The same again is no news, and would only fill the memory.
    const last = states.last;
    if (!last || !same(app, last)) this.states += states.set(t, app);
  }

  private look([, state, owner, guests = NOBODY]: Pu): number {
    const key = keyOf(state, owner, guests);
    let index = this.lookIndex.get(key);
    if (index === undefined) {
      index = this.looks.push({ state, owner, guests }) - 1;
      this.lookIndex.set(key, index);
      if (owner !== null) this.application(owner);
      for (const guest of guests) this.application(guest);
    }
    return index;
  }

  private pass(t: number): void {
    if (t > this.now) this.now = t;
    const { keep, spans, decisions, states } = this.limits;
    // The past is forgotten in portions of a tenth: each costs a pass over everything.
    if (this.now - this.begin > keep * 1.1) this.forget(this.now - keep);
    else if (this.spans > spans || this.decisions.length > decisions || this.states > states) {
      this.forget(this.begin + (this.now - this.begin) / 10);
    }
  }

  private forget(before: number): void {
    this.begin = before;
    for (const row of this.rows) this.spans -= row.forget(before);
    this.policies.forget(before);
    this.outside.forget(before);
    const old = afterTime(this.decisions, before);
    for (const { number } of this.decisions.splice(0, old)) {
      const entries = this.byNumber.get(number);
      entries?.shift();
      if (entries?.length === 0) this.byNumber.delete(number);
    }
    this.compact();
    const seen = new Set<number>();
    for (const { owner, guests } of this.looks) {
      if (owner !== null) seen.add(owner);
      for (const guest of guests) seen.add(guest);
    }
    for (const { app } of this.decisions) if (app !== null) seen.add(app);
    for (const [number, { place, states }] of this.applications) {
      this.states -= states.forget(before);
      const over = states.length === 0 || (states.last === null && states.starts[states.length - 1]! <= before);
      if (over && !seen.has(number)) {
        this.states -= states.length;
        this.applications.delete(number);
        this.places.delete(place);
        this.lowest = Math.min(this.lowest, place);
      }
    }
  }

  /** Keeps the looks only that a span still has, and numbers them anew. */
  private compact(): void {
    const old = this.looks;
    const indexes = new Int32Array(old.length).fill(-1);
    this.looks = [];
    this.lookIndex.clear();
    this.generation += 1;
    for (const { values } of this.rows) {
      for (let i = 0; i < values.length; i += 1) {
        const before = values[i]!;
        if (indexes[before] === -1) {
          const look = old[before]!;
          indexes[before] = this.looks.push(look) - 1;
          this.lookIndex.set(keyOf(look.state, look.owner, look.guests), indexes[before]!);
        }
        values[i] = indexes[before]!;
      }
    }
  }
}

const keyOf = (state: string, owner: number | null, guests: readonly number[]): string =>
  guests.length === 0 ? `${owner} ${state}` : `${owner}+${guests.join("+")} ${state}`;

function same(a: App, b: App): boolean {
  return (
    a.count === b.count && a.request === b.request && a.state === b.state && a.why === b.why && a.cpus === b.cpus &&
    a.min === b.min && a.max === b.max && a.weight === b.weight && a.name === b.name && a.class === b.class &&
    a.shared === b.shared && a.lent === b.lent
  );
}
