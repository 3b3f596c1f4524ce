// The messages that a document carries in itself. Owns nothing; it asks nobody for anything.

import type { Board } from "./board";
import { Lines } from "./lines";
import { readMessage } from "./message";

/** The element with the recording, if this document is a file. */
export const recording = (): HTMLElement | null => document.getElementById("recording");

export async function replay(board: Board, element: HTMLElement): Promise<void> {
  board.connect("file", "");
  board.replayed.began = performance.now();
  try {
    if (element.dataset.encoding !== "gzip") throw new Error(`its encoding is ${element.dataset.encoding}, not gzip`);
    const text = atob(element.textContent?.trim() ?? "");
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) packed[i] = text.charCodeAt(i);
    // The text is as large as all the rest and is not needed any more.
    element.textContent = "";
    const lines = new Lines();
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const give = (found: string[]) => board.receive(found.flatMap((line) => readMessage(line) ?? []));
    const reader = stream.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) give(lines.push(piece.value));
    give(lines.end());
    board.replayed.ended = performance.now();
  } catch (error) {
    board.connect("file", `The recording in this file cannot be read: ${(error as Error).message}`);
  }
}
