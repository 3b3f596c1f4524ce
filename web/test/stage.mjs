// The stage of the checks in a browser: pages with made-up messages, and what a check prints. Used by page.mjs and
// choice.mjs, which are told the same: see page.mjs.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, watched } from "./browser.mjs";
import { hello, packed, status, steps } from "./messages.mjs";
import { html, TOKEN } from "./server.mjs";

const only = process.env.ONLY ?? "";
export const shots = process.env.SHOTS ?? "";
export const browser = await launch();
export const scratch = mkdtempSync(join(tmpdir(), "numaestro-page-"));
let passed = 0;
let failed = 0;

export const open = (options) => watched(browser, 10_000, options);

export async function openFile(messages, options) {
  const opened = await open(options);
  const path = join(scratch, `${Math.random().toString(36).slice(2)}.html`);
  writeFileSync(path, html({ messages }));
  opened.url = pathToFileURL(path).href;
  await opened.page.goto(opened.url);
  await opened.at("applications").or(opened.at("no-applications")).first().waitFor();
  return opened;
}

export async function openLive(served, options) {
  const opened = await open(options);
  await opened.page.goto(`${served.address}#token=${TOKEN}`);
  await opened.page.waitForFunction(() => window.numaestroDashboard.shown().connection === "live");
  await opened.at("applications").waitFor();
  return opened;
}

export async function check(name, body) {
  if (!name.includes(only)) return;
  const open = [];
  try {
    const note = await body((thing) => (open.push(thing), thing));
    console.log(`ok ${name}${note ? ` (${note})` : ""}`);
    passed += 1;
  } catch (error) {
    console.log(`FAILED ${name}: ${String(error.message ?? error).split("\n").slice(0, 6).join(" | ")}`);
    failed += 1;
  }
  for (const thing of open) await (thing.context ?? thing).close();
}

const machine = { cpus: 16, nodes: 2 };
export const recorded = (more = {}) => {
  const o = { ...machine, apps: 5, seconds: 120, ...more };
  return [hello(o), ...packed(steps(o))];
};

export function liveMessages(more = {}) {
  const o = { ...machine, apps: 5, seconds: 120, ...more };
  const all = steps(o);
  const running = new Map();
  for (const { apps = [], gone = [] } of all) {
    for (const app of apps) running.set(app.app, app);
    for (const number of gone) running.delete(number);
  }
  const t = all.at(-1).t;
  const apps = [...running.values()];
  const load = status({ t, apps, nodes: o.nodes });
  return { t, apps, messages: [hello({ ...o, live: true }), ...packed(all), load, { kind: "now", t }] };
}

/** A point in a span near the right edge of the picture that one application has alone, and which one. */
export async function pointOf(opened) {
  const { apps } = await opened.shown();
  const box = await opened.at("occupancy").boundingBox();
  for (let y = 3; y < box.height - 30; y += 6) {
    const point = { x: box.x + box.width - 4, y: box.y + y };
    await opened.page.mouse.move(point.x, point.y);
    const seen = await opened.at("tip").locator("svg text").allTextContents();
    const app = seen.length === 1 && apps.find(({ letter }) => letter === seen[0]);
    if (app) return { app, point };
  }
  throw new Error("no span that one application has alone is seen");
}

/** After the last check. */
export async function finish() {
  await browser.close();
  rmSync(scratch, { recursive: true, force: true });
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
