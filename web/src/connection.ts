// The stream of messages from the program that serves the page. Owns the token and the one connection.

import type { Board } from "./board";
import { Lines } from "./lines";
import { readMessage } from "./message";

const KEPT = "numaestro-token";
// The source says at least once a second what time it is; a connection that is silent for so long is dead.
const SILENCE = 10_000;

/** Takes the token out of the address bar, where it would be seen and copied; a reload finds it in the session. */
export function takeToken(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return given ?? sessionStorage.getItem(KEPT) ?? "";
}

/** Seconds until try number `failed` + 1. */
export const pause = (failed: number): number => Math.min(10, 2 ** Math.max(0, failed - 1));

const later = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Reads the stream, again and again, until the token is refused. */
export async function stay(board: Board, token: string): Promise<void> {
  let failed = 0;
  for (;;) {
    try {
      const answer = await open(token);
      if (answer.status === 401 || answer.status === 403) {
        const again = "This link is no longer valid. Run `numaestro dashboard` again and open the link that it prints.";
        board.connect("refused", again);
        return;
      }
      if (!answer.ok || !answer.body) throw new Error(`the answer was ${answer.status}`);
      await read(board, answer.body, () => {
        failed = 0;
      });
      throw new Error("the stream has ended");
    } catch (error) {
      failed += 1;
      const seconds = pause(failed);
      // What the manager said last explains more than the end of the stream that followed it.
      const why = board.connection === "live" && board.problem !== "" ? board.problem : reason(error);
      board.connect("retrying", `No connection: ${why}. Next try ${seconds} s after it broke.`);
      await later(seconds);
    }
  }
}

const reason = (error: unknown) => (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");

function open(token: string): Promise<Response> {
  return fetch("/stream", { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
}

async function read(board: Board, body: ReadableStream<Uint8Array>, heard: () => void): Promise<void> {
  const lines = new Lines();
  const reader = body.getReader();
  let alarm: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      alarm = setTimeout(() => void reader.cancel(), SILENCE);
      const { done, value } = await reader.read();
      clearTimeout(alarm);
      if (done) return;
      const messages = lines.push(value).flatMap((line) => readMessage(line) ?? []);
      if (messages.length === 0) continue;
      heard();
      if (board.connection !== "live") board.connect("live", "");
      board.receive(messages);
    }
  } finally {
    clearTimeout(alarm);
    void reader.cancel().catch(() => {});
  }
}
