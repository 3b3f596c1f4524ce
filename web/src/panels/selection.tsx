// What is chosen, in words: for the eye, and for those who do not see the picture. Owns nothing.

import type { Board } from "../board";
import { many, short } from "../format";
import { Patch } from "./patch";

export function Selection({ board }: { board: Board }) {
  const { model, choice } = board;
  const { app, decision } = choice;
  return (
    <p id="selection" class="selection" role="status" data-test="selection">
      {app === null && decision === null && (
        <span class="dim">Nothing is chosen. Click on a span, a program or a decision to see why.</span>
      )}
      {app !== null && (
        <>
          <Patch model={model} app={app} /> <b>{short(model.nameOf(app), 60)}</b> {words(board, app)}{" "}
        </>
      )}
      {decision && <>decision {decision.number} is marked </>}
      {(app !== null || decision) && (
        <button type="button" class="small" onClick={() => board.clear()} title="key Escape">
          clear
        </button>
      )}
    </p>
  );
}

function words({ model, window }: Board, app: number): string {
  const state = model.applications.get(app)?.states.at(window.to);
  if (!state) return "is not there at the right edge; ";
  return `has ${many(state.count, "processor")}, wishes for ${state.request}; `;
}
