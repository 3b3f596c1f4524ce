// The causes of the chosen decision, first cause first. Owns nothing.

import { timeText } from "../axis";
import type { Board } from "../board";
import { causes } from "../causes";
import { short } from "../format";
import type { Decision } from "../message";
import type { Model } from "../model";
import { Patch } from "./patch";

const EFFECTS = 12;

export function Chain({ board, number }: { board: Board; number: number }) {
  const { model } = board;
  const chain = causes(number, (cause) => model.decisionsOf(cause));
  const began = model.hello?.beganMs ?? null;
  return (
    <div class="chain" data-test="chain" role="region" aria-label="chain of causes">
      <h3>
        Why decision {number}
        <button type="button" class="small" onClick={() => board.clear()} title="key Escape">
          close
        </button>
      </h3>
      <ol>
        {chain.map((cause) => {
          const first = cause.effects[0];
          return (
            <li key={cause.number} class={cause.number === number ? "chosen" : ""}>
              {first ? (
                <>
                  <button type="button" class="name" onClick={() => board.chooseDecision(first)}>
                    {timeText(first.t, began, 3)}
                  </button>{" "}
                  <b>{short(first.event, 300)}</b>
                  <br />
                  {short(first.rule, 300)}
                  {first.section !== "" && <span class="dim"> ({short(first.section, 80)})</span>}
                  <ul>
                    {cause.effects.slice(0, EFFECTS).map((effect, index) => (
                      <li key={index}>
                        <Effect model={model} effect={effect} />
                      </li>
                    ))}
                    {cause.effects.length > EFFECTS && <li>and {cause.effects.length - EFFECTS} more</li>}
                  </ul>
                </>
              ) : (
                <span class="dim">decision {cause.number}, which is no longer known</span>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function Effect({ model, effect: { app, action, before, after } }: { model: Model; effect: Decision }) {
  return (
    <>
      {app !== null && (
        <>
          <Patch model={model} app={app} /> {short(model.nameOf(app), 40)}:{" "}
        </>
      )}
      {short(action, 300)}{" "}
      {app !== null && <span class="dim">({before === after ? `stays at ${after}` : `${before} → ${after}`})</span>}
    </>
  );
}
