// The keys that work everywhere on the page. Owns nothing.

import type { Board } from "./board";

export function listen(board: Board): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    // What is typed into a field belongs to the field. A dialog closes itself.
    if (target.closest("input, select, textarea, dialog")) return;
    const action = actions(board)[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

const actions = (board: Board): Record<string, () => void> => ({
  ArrowLeft: () => board.pan(-0.1),
  ArrowRight: () => board.pan(0.1),
  "+": () => board.zoom(0.5),
  "=": () => board.zoom(0.5),
  "-": () => board.zoom(2),
  "0": () => board.all(),
  f: () => board.follow(),
  Escape: () => board.clear(),
  "?": () => board.showHelp(true),
});
