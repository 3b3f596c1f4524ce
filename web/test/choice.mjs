// What is chosen and read in the page, in a browser: clicks, letters, counters, forms, narrow screens. Told as page.mjs.

import assert from "node:assert/strict";
import { hello, packed } from "./messages.mjs";
import { serve } from "./server.mjs";
import { check, finish, liveMessages, openFile, openLive, recorded } from "./stage.mjs";

/** The last message with steps. */
const lastOf = (messages) => messages.findLast(({ steps }) => steps).steps.at(-1);

await check("letters are those of status, and follow it", async (keep) => {
  const { messages, apps, t } = liveMessages();
  const status = messages.find(({ kind }) => kind === "status");
  apps.forEach(({ app }, place) => Object.assign(status.apps[app], { letter: "PQRSTUV"[place] }));
  const served = keep(await serve(messages));
  const live = keep(await openLive(served));
  const signs = () => live.page.locator("[data-test=applications] .patch text").allTextContents();
  const all = apps.map((_, place) => "PQRSTUV"[place]);
  assert.deepEqual((await signs()).sort(), all);
  const of = (app) => live.page.locator(`[data-test=decisions] tr:has-text("${app.name}") .patch text`).first();
  assert.ok((await of(apps.at(-1)).textContent()).length > 0);
  const [first, ...others] = apps;
  others.forEach(({ app }, place) => Object.assign(status.apps[app], { letter: "PQRSTUV"[place] }));
  delete status.apps[first.app];
  served.send({ kind: "steps", steps: [{ t: t + 1, gone: [first.app] }] }, { ...status, t: t + 1 });
  await live.page.waitForFunction((most) => document.querySelectorAll("[data-test=applications] tbody tr").length === most,
    others.length);
  assert.deepEqual((await signs()).sort(), all.slice(0, -1));
  // The rows of the list that stood there already say it, too: its program goes by its number now.
  await live.page.locator("[data-test=decisions] .patch text", { hasText: String(first.app) }).first().waitFor();
});

await check("a click hides the tip and moves the list to its time", async (keep) => {
  const served = keep(await serve(liveMessages({ spans: 4000 }).messages));
  const live = keep(await openLive(served));
  await live.page.keyboard.press("0");
  const box = await live.at("occupancy").boundingBox();
  const x = box.x + box.width / 2;
  let y = box.y + box.height - 30;
  do {
    y -= 6;
    await live.page.mouse.move(x, y);
    // A tip is rendered soon after the pointer has moved.
    await new Promise((wait) => setTimeout(wait, 30));
  } while ((await live.at("tip").locator(".patch").count()) === 0 && y > box.y + box.height / 2);
  await live.at("tip").waitFor();
  const tip = await live.at("tip").boundingBox();
  assert.ok(tip.y + tip.height <= y, "it stands above the pointer, and the words below are free");
  await live.page.mouse.click(x, y);
  await live.at("tip").waitFor({ state: "detached" });
  await live.page.mouse.move(x + 2, y);
  assert.equal(await live.at("tip").count(), 0, "an unsteady hand is no other place");
  const row = live.page.locator("tr.at");
  await row.waitFor();
  const [list, place] = [await live.at("decisions").boundingBox(), await row.boundingBox()];
  assert.ok(place.y >= list.y && place.y < list.y + 100, `${place.y} is the top of ${list.y}`);
  const { from, t } = await live.shown();
  const gutter = box.width * 0.06;
  const share = (x - box.x - gutter) / (box.width - gutter);
  const clicked = await row.locator("td").first().innerText();
  const [h, m, s] = new Date(1_764_150_000_000 + (from + share * (t - from)) / 1000).toTimeString().slice(0, 8).split(":");
  const seconds = (a, b, c) => 3600 * Number(a) + 60 * Number(b) + Number(c);
  assert.ok(Math.abs(seconds(...clicked.split(":")) - seconds(h, m, s)) < 5, `${clicked}, not ${h}:${m}:${s}`);
  await live.at("newest").click();
  await row.waitFor({ state: "detached" });
  await live.page.evaluate(() => scrollTo(0, 0));
  await live.page.mouse.move(x + 40, y);
  await live.at("tip").waitFor();
});

await check("without a manager the page does not say that it is live", async (keep) => {
  const { messages } = liveMessages();
  const served = keep(await serve(messages));
  const live = keep(await openLive(served));
  assert.equal(await live.at("connection").innerText(), "live");
  served.send({ kind: "lost", problem: "no manager runs" });
  await live.page.locator(".connection.lost", { hasText: "no manager" }).waitFor();
  served.send(...messages);
  await live.page.locator(".connection.live", { hasText: "live" }).waitFor();
});

await check("load outside is counted, and an event of nobody has no processors", async (keep) => {
  const messages = recorded({ cpus: 2, nodes: 1 });
  const nobodys = { number: 99_999, because: null, app: null, event: "load came", rule: "r", section: "", action: "a" };
  const last = lastOf(messages);
  Object.assign(last, { unmanaged: 1, decisions: [...(last.decisions ?? []), { ...nobodys, before: 0, after: 0 }] });
  const file = keep(await openFile(messages));
  const counters = (await file.at("counters").innerText()).replace(/\s+/g, " ");
  assert.match(counters, /free 0 used from outside, not known which 1/);
  assert.equal(await file.at("decision-99999").locator("td").last().innerText(), "");
  await file.at("decision-99999").click();
  assert.doesNotMatch(await file.at("chain").innerText(), /stays at/);
});

await check("no letter stands over guests, and one decision is no decisions", async (keep) => {
  const app = (number) => ({ app: number, name: `p${number}`, state: "running", count: 1, request: 1, min: 1, weight: 1 });
  const decision = { number: 1, because: null, app: 1, event: "e", rule: "r", section: "", action: "a", before: 0, after: 1 };
  const first = { t: 0, pus: [[0, "owned", 1, [2]]], apps: [app(1), app(2)] };
  const all = [first, { t: 10e6, decisions: [decision] }];
  const file = keep(await openFile([hello({ cpus: 1 }), ...packed(all), { kind: "now", t: 10e6 }]));
  assert.match(await file.at("counters").innerText(), /(^|\n)1 decision a second at the right edge/);
  const colours = await file.at("occupancy").evaluate((canvas) => {
    // The row is as high as a row can be; its lower half is the guest's.
    const bar = Math.max(28, Math.round(parseFloat(getComputedStyle(canvas).fontSize) * 2)) - 3;
    const { data } = canvas.getContext("2d").getImageData(canvas.width / 2 - 60, Math.ceil(bar / 2) + 1, 120, bar / 2 - 3);
    const words = new Uint32Array(data.buffer);
    return [...new Set(words)].map((word) => (word & 0xffffff).toString(16));
  });
  assert.deepEqual(colours, ["167ad9"], "the guest's colour and no other, written blue first");
});

await check("a part in which nothing happens is drawn, and said to be quiet", async (keep) => {
  const state = { t: 0, pus: [[0, "owned", 1]], apps: [{ app: 1, name: "cg", state: "running", count: 1, request: 1, min: 1 }] };
  const file = keep(await openFile([hello({ cpus: 1 }), ...packed([state]), { kind: "now", t: 10e6 }]));
  await file.page.getByText("No decision was made in the time of this recording").waitFor();
  const { from, t, spans } = await file.shown();
  assert.deepEqual([from, t, spans], [0, 10e6, 1]);
});

await check("a switch of the policy is marked at the axis", async (keep) => {
  const dark = async (messages) => {
    const file = keep(await openFile(messages));
    return file.at("occupancy").evaluate((canvas) => {
      // Ink right below the axis, over the whole width; times are written lower and lighter.
      const font = parseFloat(getComputedStyle(canvas).fontSize);
      const y = Math.round(canvas.height - Math.ceil(font * 1.8) + 4);
      const { data } = canvas.getContext("2d").getImageData(0, y, canvas.width, 1);
      let found = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] < 60 && data[i + 1] < 60 && data[i + 2] < 60) found += 1;
      return found;
    });
  };
  const messages = recorded({ cpus: 2, nodes: 1 });
  assert.equal(await dark(messages), 0);
  lastOf(messages.slice(0, 3)).policy = "dss";
  assert.ok((await dark(messages)) >= 3, "a mark");
});

await check("an answer of the form goes when something else is typed, and names its fields", async (keep) => {
  const { messages, apps } = liveMessages();
  const served = keep(await serve(messages));
  const live = keep(await openLive(served));
  served.answer = () => [400, { error: "--min 9 is more than --max 3", next: "" }];
  await live.at(`change-${apps.find(({ app }) => app % 2 === 1).app}`).click();
  const form = live.at("limits");
  await form.locator("[name=min]").fill("9");
  await form.locator("button").click();
  await form.getByText("“at least” 9 is more than “at most” 3").waitFor();
  await form.locator("[name=max]").fill("0");
  assert.equal(await form.locator("[data-test=answer]").innerText(), "");
  await form.locator("button").click();
  assert.equal(served.posts.length, 1, "the browser refuses it, and no older answer stands beside");
});

await check("on a narrow screen nothing is cut", async (keep) => {
  const served = keep(await serve(liveMessages().messages));
  const live = keep(await openLive(served, { viewport: { width: 400, height: 900 } }));
  const wide = await live.page.evaluate(() =>
    ["main", ".scroll", ".list"].map((where) => document.querySelector(where)).map((part) => part.scrollWidth - part.clientWidth));
  assert.deepEqual(wide, [0, 0, 0]);
  const right = await live.at("applications").locator("button", { hasText: "limits" }).first().boundingBox();
  assert.ok(right.x + right.width <= 400);
});

await finish();
