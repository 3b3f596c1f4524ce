// Drives the page of a real `numaestro dashboard` in a browser: a manager with programs, a recording of it, and a
// simulated run. $COMMAND: the numaestro to test. Otherwise as page.mjs.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, skip, watched } from "./browser.mjs";

const command = resolve(process.env.COMMAND ?? "../target/debug/numaestro");
const shots = process.env.SHOTS ?? "";

if (!existsSync(command)) skip(`${command} is not built`);
const scratch = mkdtempSync(join(tmpdir(), "numaestro-manager-"));
const environment = { ...process.env, NUMAESTRO_DIR: join(scratch, "run"), HOME: scratch };
const children = [];
/** The `numaestro dashboard` that runs. */
let dashboard;

/** A process that does not outlive the test. */
function start(words, stdout) {
  const child = spawn(command, words, { env: environment, stdio: ["ignore", stdout, "inherit"] });
  children.push(child);
  return child;
}

function said(...words) {
  return execFileSync(command, words, { env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** The first line that a child prints. */
function line(child) {
  return new Promise((done, fail) => {
    let text = "";
    child.stdout.on("data", (bytes) => {
      text += bytes;
      if (text.includes("\n")) done(text.slice(0, text.indexOf("\n")));
    });
    child.on("exit", () => fail(new Error(`it ended: ${text}`)));
  });
}

async function until(what, holds) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`never: ${what}`);
}

/** A program that computes; it is managed when this returns. */
async function program(name) {
  const child = start(["run", "--name", name, "--", "sh", "-c", "echo ready; while :; do :; done"], "pipe");
  await line(child);
  return child;
}

const browser = await launch();

async function open(url) {
  const opened = await watched(browser, 15_000);
  await opened.page.goto(url);
  return opened;
}

let failed = 0;
async function check(name, body) {
  try {
    const note = await body();
    console.log(`ok ${name}${note ? ` (${note})` : ""}`);
  } catch (error) {
    console.log(`FAILED ${name}: ${String(error.message ?? error).split("\n").slice(0, 6).join(" | ")}`);
    failed += 1;
  }
}

async function live() {
  const { page, wrong, requests, at, shown, context } = await open(await line(dashboard));
  await until("the begin", async () => (await shown()).connection === "live");
  assert(!page.url().includes("token"), `the token stays in the address: ${page.url()}`);
  await program("first");
  await until("the first program", async () => (await at("applications").textContent()).includes("first"));
  await program("second");
  await until("the second program", async () => (await at("applications").textContent()).includes("second"));

  const status = JSON.parse(said("status", "--json"));
  const letters = status.apps.map(({ app }, place) => [app, "ABCDE"[place]]);
  await until("the letters of status", async () => {
    const { apps } = await shown();
    return JSON.stringify(apps.map(({ app, letter }) => [app, letter]).sort()) === JSON.stringify(letters);
  });

  await at("decisions").locator("tbody tr").filter({ hasText: "first" }).first().click();
  await at("chain").waitFor();
  const chain = await at("chain").textContent();
  assert(chain.includes("second") || chain.includes("first"), chain);

  await at("policy").locator("select").selectOption("dss");
  await at("switch-policy").click();
  await until("the other policy", () => JSON.parse(said("status", "--json")).policy === "dss");
  await until("the policy in the page", async () => (await shown()).policy === "dss");
  if (shots) await page.screenshot({ path: join(shots, "manager.png"), fullPage: true });
  assert.deepEqual(wrong, []);
  const own = new URL(requests[0]).host;
  assert(requests.every((request) => new URL(request).host === own), requests.join(" "));
  await context.close();
}

async function file(words, name) {
  const path = join(scratch, name);
  said("dashboard", ...words, "--output", path);
  const { page, wrong, requests, shown, context } = await open(pathToFileURL(path).href);
  await until("the picture", async () => (await shown()).spans > 0);
  const { decisions, apps } = await shown();
  assert(decisions > 0, "decisions");
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
  assert.deepEqual(wrong, []);
  assert.equal(requests.length, 1, requests.join(" "));
  await context.close();
  return `${decisions} decisions, ${apps.length} programs at the end, ${Math.round(statSync(path).size / 1024)} KiB`;
}

/** Nothing of the test may be left, however it ends. */
function end() {
  for (const child of children) child.kill("SIGKILL");
  try {
    said("stop");
  } catch {
    // It has been killed with the others.
  }
  rmSync(scratch, { recursive: true, force: true });
}
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    end();
    process.exit(1);
  });
}

try {
  start(["daemon", "--ignore-unmanaged"], "ignore");
  await until("a manager", () => JSON.parse(said("status", "--json")).running);
  said("record", "on");
  dashboard = start(["dashboard"], "pipe");
  await check("a_manager_live", live);
  said("record", "off");
  await check("a_recording", () => file(["1"], "recording.html"));
  await check("a_simulated_run", () => {
    const journal = join(scratch, "simulated.journal");
    said("sim", "run", resolve("../lab/scenarios/two-openmp.toml"), "--journal", journal);
    return file([journal], "simulated.html");
  });
} catch (error) {
  console.log(`FAILED manager: ${String(error.message ?? error).split("\n")[0]}`);
  failed += 1;
} finally {
  await browser.close();
  end();
}
process.exit(failed ? 1 : 0);
