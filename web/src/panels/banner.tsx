// Says that something is wrong with the source of the messages. Owns nothing.

import type { Board } from "../board";

export function Banner({ board }: { board: Board }) {
  return (
    <div role="alert">
      {board.problem !== "" && (
        <p class="banner" data-test="banner">
          {board.problem}
        </p>
      )}
    </div>
  );
}
