// Documents as the program makes them from dist/, and a small server of the live ones. Used by page.mjs.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

export const TOKEN = "t0ken";
const NONCE = "n0nce";
const POLICY = `default-src 'none'; script-src 'nonce-${NONCE}'; style-src 'nonce-${NONCE}'; img-src data:`;
const dist = (name) => readFileSync(new URL(`../dist/${name}`, import.meta.url), "utf8");

/** The document; with messages it is a file that carries them. `talks`: whether it may talk to its server. */
export function html({ messages = null, talks = false }) {
  const meta = talks ? "" : `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`;
  const packed = messages && gzipSync(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  const element = packed
    ? `<script type="application/octet-stream" id="recording" data-encoding="gzip">` +
      `${packed.toString("base64")}</script>`
    : "";
  return `<!doctype html><html lang="en"><head><meta charset="utf-8">${meta}` +
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>numaestro</title>` +
    `<style nonce="${NONCE}">${dist("dashboard.css")}</style></head><body><div id="app"></div>${element}` +
    `<script nonce="${NONCE}">${dist("dashboard.js")}</script></body></html>`;
}

/** Serves one live document. `first` are the messages with which each stream begins. */
export async function serve(first) {
  const streams = new Set();
  const served = {
    first, posts: [], valid: true,
    answer: () => [200, { message: "done" }],
    send: (...messages) => {
      for (const stream of streams) stream.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
    },
    cut: () => streams.forEach((stream) => stream.destroy()),
    streams,
    close: () => {
      served.cut();
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer((request, response) => {
    const reply = (code, body) => {
      response.writeHead(code, { "Content-Type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (request.url === "/") {
      response.writeHead(200, {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": `${POLICY}; connect-src 'self'`,
      });
      response.end(html({ talks: true }));
    } else if (!served.valid || request.headers.authorization !== `Bearer ${TOKEN}`) {
      reply(401, { error: "no" });
    } else if (request.url === "/stream") {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      response.on("close", () => streams.delete(response));
      streams.add(response);
      response.write(served.first.map((message) => `${JSON.stringify(message)}\n`).join(""));
      // A silent stream is taken for a dead one. The time is one that has been: nothing moves.
      const alive = setInterval(() => response.write('{"kind":"now","t":0}\n'), 1000);
      response.on("close", () => clearInterval(alive));
    } else if (request.method === "POST") {
      let text = "";
      request.on("data", (piece) => (text += piece));
      request.on("end", () => {
        const post = { url: request.url, type: request.headers["content-type"], body: JSON.parse(text) };
        served.posts.push(post);
        reply(...served.answer(post));
      });
    } else reply(404, { error: "not here" });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  served.address = `http://127.0.0.1:${server.address().port}/`;
  return served;
}
