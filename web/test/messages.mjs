// Makes messages like those of `numaestro dashboard`, the same for the same seed: programs come and go, change their
// wishes and are given and taken processors, with decisions and their causes. Used by page.mjs.

const NAMES = ["cg", "ft", "lu", "mg", "blender", "make", "python3", "gromacs", "ffmpeg", "namd", "openfoam", "sort"];
const USERS = ["ann", "bob", "chris", "dora"];

/** A small generator of random numbers (mulberry32). */
export function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function hello({ cpus, nodes = 1, live = false, title = "a recording", began = 1_764_150_000_000 }) {
  const each = Math.ceil(cpus / nodes);
  return {
    kind: "hello", version: 1, live, title, policy: "equi", began_ms: began,
    cpus: Array.from({ length: cpus }, (_, cpu) => {
      const node = Math.floor(cpu / each);
      return { cpu, node, package: node >> 1, core: cpu >> 1 };
    }),
    policies: ["equi", "dss", "cilk"], may: { policy: live },
  };
}

/** The steps of `seconds` seconds with about `spans` spans in all; terse: only the first decision of each chain. */
export function steps({ seed = 1, cpus, apps: most, seconds, spans = seconds * 8, names = NAMES, terse = false }) {
  const chance = random(seed);
  const pick = (list) => list[Math.floor(chance() * list.length)];
  const owner = new Array(cpus).fill(null);
  const running = new Map();
  const told = new Map();
  const found = [];
  let next = 1;
  let number = 0;
  let made = cpus;
  let t = 0;
  let events = 0;
  const outside = cpus > 3 ? [cpus - 1] : [];
  found.push({ t: 0, pus: owner.map((_, index) => [index, outside.includes(index) ? "reserved" : "free", null]) });

  while (t < seconds * 1e6) {
    const perEvent = Math.max(1, (made - cpus) / Math.max(1, events));
    const left = Math.max(1, spans - made);
    const usual = ((seconds * 1e6) / spans) * perEvent;
    const gap = Math.max(400, usual / 3, ((seconds * 1e6 - t) / left) * perEvent * (0.5 + chance()));
    t += Math.round(gap);
    if (t >= seconds * 1e6) break;
    events += 1;
    const because = ++number;
    let subject;
    const gone = [];
    let event;
    if (running.size < most && (chance() < 0.5 || running.size < most * 0.6)) {
      const request = 1 + Math.floor(chance() * Math.min(cpus, 16));
      subject = { app: next, name: names[(next - 1) % names.length], state: "running", count: 0, request, min: 1,
        max: chance() < 0.3 ? request + 2 : null, weight: pick([1, 1, 1, 2]), class: "fold", cpus: "",
        shared: false, lent: false, why: "" };
      running.set(next++, subject);
      event = `registered and wishes for ${request} processors`;
    } else if (running.size > 1 && chance() < 0.1) {
      subject = pick([...running.values()]);
      running.delete(subject.app);
      gone.push(subject.app);
      event = "ended";
    } else if (running.size > 0) {
      subject = pick([...running.values()]);
      subject.request = 1 + Math.floor(chance() * Math.min(cpus, 16));
      event = `its next parallel part can use ${subject.request} processors`;
    } else continue;
    const before = subject.count;
    share();
    const { leaving, owned, decisions } = move(because);
    if (gone.length > 0) subject.count = 0;
    decisions.unshift({ number: because, because: null, app: subject.app, event,
      rule: "each program gets an equal share",
      section: "McCann 1993, 4.1", action: `its share is ${subject.count} processors`, before, after: subject.count });
    const apps = [];
    for (const app of running.values()) {
      // As the manager does: only what has changed is told.
      const state = app.count * 1000 + app.request;
      if (told.get(app.app) !== state) apps.push({ ...app });
      told.set(app.app, state);
    }
    found.push({ t, pus: leaving, apps, gone, decisions });
    if (owned.length > 0) {
      t += Math.round(Math.min(60_000, gap / 3));
      found.push({ t, pus: owned });
    }
    made += leaving.length + owned.length;
  }
  return found;

  function share() {
    let free = cpus - outside.length;
    for (const app of running.values()) app.count = 0;
    for (let more = true; more && free > 0; ) {
      more = false;
      for (const app of running.values()) {
        if (app.count < app.request && free > 0) {
          app.count += 1;
          free -= 1;
          more = true;
        }
      }
    }
    for (const app of running.values()) {
      app.why = app.count < app.request
        ? `an equal share of the processors is ${app.count}`
        : "it has all that it wishes for";
    }
  }

  function move(because) {
    const leaving = [];
    const owned = [];
    const decisions = [];
    const has = new Map([...running.keys()].map((app) => [app, 0]));
    const spare = [];
    owner.forEach((app, index) => {
      if (outside.includes(index)) return;
      const wish = running.get(app)?.count ?? 0;
      if (app !== null && (has.get(app) ?? 0) < wish) has.set(app, has.get(app) + 1);
      else spare.push(index);
    });
    for (const app of running.values()) {
      const before = has.get(app.app);
      while (has.get(app.app) < app.count) {
        const index = spare.shift();
        if (owner[index] !== null) leaving.push([index, "leaving", owner[index]]);
        owner[index] = app.app;
        const guests = chance() < 0.08 ? [[pick([...running.keys()])]] : [];
        owned.push([index, "owned", app.app, ...guests]);
        has.set(app.app, has.get(app.app) + 1);
      }
      if (before !== app.count && !terse) {
        decisions.push({ number: ++number, because, app: app.app, event: "shares have changed",
          rule: "a processor that is free goes to who wishes most", section: "", before, after: app.count,
          action: `${app.count - before} more processors from the free ones` });
      }
    }
    for (const index of spare) {
      if (owner[index] === null) continue;
      leaving.push([index, "leaving", owner[index]]);
      owner[index] = null;
      owned.push([index, chance() < 0.1 ? "unmanaged" : "free", null]);
    }
    return { leaving, owned, decisions };
  }
}

export function status({ seed = 1, t, apps, nodes = 1 }) {
  const chance = random(seed);
  return {
    kind: "status", t,
    apps: Object.fromEntries(apps.map(({ app, count }) => [app, {
      user: USERS[app % USERS.length], mine: app % 2 === 1, cpu_percent: count * 100 * (0.6 + 0.4 * chance()),
      pages: Array.from({ length: nodes }, (_, node) => [node, Math.floor(chance() * 2 ** 31)]), pid: 4000 + app,
    }])),
    load: { outside_percent: 12.5 }, stops: 2,
  };
}

/** Steps as messages of at most `each` steps. */
export function packed(all, each = 200) {
  const messages = [];
  for (let i = 0; i < all.length; i += each) messages.push({ kind: "steps", steps: all.slice(i, i + each) });
  return messages;
}
