// The browser of the tests, and pages in it that note what goes wrong. $CHROMIUM: the browser. A test that cannot have one
// says why and ends with 77.

import { existsSync } from "node:fs";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}

export async function launch() {
  if (!existsSync(executablePath)) skip(`there is no browser at ${executablePath}`);
  const { chromium } = await import("playwright-core").catch(() => skip("playwright-core is not installed"));
  return chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** An empty page that notes what goes wrong in it and what it asks for; it waits so many milliseconds. */
export async function watched(browser, patience, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  const requests = [];
  page.on("console", (said) => ["error", "warning"].includes(said.type()) && wrong.push(said.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  page.setDefaultTimeout(patience);
  const at = (name) => page.locator(`[data-test="${name}"]`);
  const shown = () => page.evaluate(() => globalThis.numaestroDashboard.shown());
  return { context, page, wrong, requests, at, shown };
}
