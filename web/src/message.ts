// The messages that the page is given, one JSON object a line. This file owns their types and the reader, which
// skips what it does not know: an older page must live with a newer manager.

export interface Cpu {
  cpu: number;
  node: number;
  package: number;
  core: number;
}

export interface App {
  app: number;
  name: string;
  state: string;
  count: number;
  request: number;
  min: number;
  max: number | null;
  weight: number;
  class: string;
  cpus: string;
  shared: boolean;
  lent: boolean;
  why: string;
}

export interface Decision {
  t: number;
  number: number;
  because: number | null;
  app: number | null;
  event: string;
  rule: string;
  section: string;
  action: string;
  before: number;
  after: number;
}

/** Index of the processor, state, owner, guests. */
export type Pu = [number, string, number | null, (readonly number[])?];

export interface Step {
  t: number;
  pus: Pu[];
  apps: App[];
  gone: number[];
  policy: string | null;
  /** Processors that load outside keeps busy, whichever they are; null: as many as before. */
  unmanaged: number | null;
  decisions: Decision[];
}

export interface AppStatus {
  user: string | null;
  mine: boolean;
  cpuPercent: number | null;
  pages: [number, number][];
  /** Its letter for `numaestro status` and `numaestro set`. */
  letter: string | null;
  pid: number | null;
}

export interface Hello {
  kind: "hello";
  live: boolean;
  title: string;
  policy: string;
  beganMs: number | null;
  cpus: Cpu[];
  policies: string[];
  mayPolicy: boolean;
}

export interface Status {
  kind: "status";
  t: number;
  apps: Map<number, AppStatus>;
  outsidePercent: number | null;
  stops: number | null;
}

export type Message =
  | Hello
  | { kind: "steps"; steps: Step[] }
  | Status
  | { kind: "now"; t: number }
  | { kind: "lost"; problem: string };

type Fields = Record<string, unknown>;

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const number = (value: unknown, otherwise: number): number => (isNumber(value) ? value : otherwise);
const maybe = (value: unknown): number | null => (isNumber(value) ? value : null);
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** One line of the stream; null for what is no message or one of a kind that this page does not know. */
export function readMessage(line: string): Message | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isFields(value)) return null;
  switch (value.kind) {
    case "hello":
      return readHello(value);
    case "steps":
      return { kind: "steps", steps: list(value.steps).flatMap(readStep) };
    case "status":
      return readStatus(value);
    case "now":
      return isNumber(value.t) ? { kind: "now", t: value.t } : null;
    case "lost":
      return { kind: "lost", problem: text(value.problem) || "the source of the messages has ended" };
    default:
      return null;
  }
}

function readHello(value: Fields): Hello {
  const may = isFields(value.may) ? value.may : {};
  return {
    kind: "hello",
    live: value.live === true,
    title: text(value.title),
    policy: text(value.policy),
    beganMs: maybe(value.began_ms),
    cpus: list(value.cpus).map((cpu, index) => readCpu(isFields(cpu) ? cpu : {}, index)),
    policies: list(value.policies).filter((name): name is string => typeof name === "string"),
    mayPolicy: may.policy === true,
  };
}

// A processor that cannot be read keeps its place: the messages after it name processors by their index.
function readCpu(value: Fields, index: number): Cpu {
  const cpu = number(value.cpu, index);
  return { cpu, node: number(value.node, 0), package: number(value.package, 0), core: number(value.core, cpu) };
}

function readStep(value: unknown): Step[] {
  if (!isFields(value) || !isNumber(value.t)) return [];
  const t = value.t;
  const pus = list(value.pus);
  return [
    {
      t,
      // Nearly always all of them are good; then the list that was parsed is used as it is.
      pus: pus.every(isPu) ? pus : pus.filter(isPu),
      apps: list(value.apps).flatMap(readApp),
      gone: list(value.gone).filter(isNumber),
      policy: typeof value.policy === "string" ? value.policy : null,
      unmanaged: maybe(value.unmanaged),
      decisions: list(value.decisions).flatMap((decision) => readDecision(decision, t)),
    },
  ];
}

function isPu(value: unknown): value is Pu {
  if (!Array.isArray(value)) return false;
  const [index, state, owner, guests] = value as unknown[];
  return (
    Number.isInteger(index) &&
    typeof state === "string" &&
    (owner === null || isNumber(owner)) &&
    (guests === undefined || (Array.isArray(guests) && guests.every(isNumber)))
  );
}

function readApp(value: unknown): App[] {
  if (!isFields(value) || !isNumber(value.app)) return [];
  return [
    {
      app: value.app,
      name: text(value.name),
      state: text(value.state),
      count: number(value.count, 0),
      request: number(value.request, 0),
      min: number(value.min, 0),
      max: maybe(value.max),
      weight: number(value.weight, 1),
      class: text(value.class),
      cpus: text(value.cpus),
      shared: value.shared === true,
      lent: value.lent === true,
      why: text(value.why),
    },
  ];
}

function readDecision(value: unknown, t: number): Decision[] {
  if (!isFields(value) || !isNumber(value.number)) return [];
  return [
    {
      t,
      number: value.number,
      because: maybe(value.because),
      app: maybe(value.app),
      event: text(value.event),
      rule: text(value.rule),
      section: text(value.section),
      action: text(value.action),
      before: number(value.before, 0),
      after: number(value.after, 0),
    },
  ];
}

function readStatus(value: Fields): Status | null {
  if (!isNumber(value.t)) return null;
  const apps = new Map<number, AppStatus>();
  for (const [key, fields] of Object.entries(isFields(value.apps) ? value.apps : {})) {
    if (!isFields(fields) || !Number.isInteger(Number(key))) continue;
    apps.set(Number(key), {
      user: typeof fields.user === "string" ? fields.user : null,
      mine: fields.mine === true,
      cpuPercent: maybe(fields.cpu_percent),
      pages: list(fields.pages).filter(
        (page): page is [number, number] => Array.isArray(page) && isNumber(page[0]) && isNumber(page[1]),
      ),
      letter: typeof fields.letter === "string" && fields.letter !== "" ? Array.from(fields.letter)[0]! : null,
      pid: maybe(fields.pid),
    });
  }
  const load = isFields(value.load) ? value.load : {};
  return { kind: "status", t: value.t, apps, outsidePercent: maybe(load.outside_percent), stops: maybe(value.stops) };
}
