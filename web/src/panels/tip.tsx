// The tooltip of the picture: processor, application, since when, how. Owns nothing but where it stands.

import { timeText } from "../axis";
import type { Board } from "../board";
import { lasting, short } from "../format";
import type { Look, Model } from "../model";
import { Patch } from "./patch";

export interface Pointed {
  row: number;
  look: Look;
  t: number;
  began: number;
  ended: number | null;
  x: number;
  y: number;
  lower: boolean;
  /** Stands left of the pointer, or it would not fit. */
  right: boolean;
  /** Stands above the pointer, or it would cover the words below the picture. */
  high: boolean;
}

const WORDS: Record<string, string> = {
  free: "free: no program has it",
  owned: "owned",
  leaving: "leaving: its program is about to give it up",
  idle: "idle: nothing runs on it",
  shared: "shared by several programs",
  unmanaged: "load from outside: programs that are not managed run here",
  reserved: "reserved: not given to programs",
  offline: "offline",
};

/** A state in words; a state that is unknown here is shown as it came. */
const stateText = (state: string): string => WORDS[state] ?? state;

export function Tip({ board, pointed }: { board: Board; pointed: Pointed }) {
  const { model } = board;
  const { row, look, began, ended, x, y, right, high } = pointed;
  const cpu = model.hello?.cpus[row];
  if (!cpu) return null;
  const beganMs = model.hello?.beganMs ?? null;
  const length = (ended ?? board.bounds.now) - began;
  const move = `translate(${Math.round(right ? x - 14 : x + 14)}px, ${Math.round(high ? y - 14 : y + 14)}px)`;
  const back = right || high ? ` translate(${right ? -100 : 0}%, ${high ? -100 : 0}%)` : "";
  return (
    <div class="tip" data-test="tip" style={{ transform: move + back }}>
      <div>
        <b>processor {cpu.cpu}</b>, node {cpu.node}
        {cpu.core !== cpu.cpu && `, core ${cpu.core}`}
      </div>
      {look.owner !== null && <Name model={model} number={look.owner} note="" />}
      {look.guests
        .filter((guest) => guest !== look.owner)
        .slice(0, 6)
        .map((guest) => (
          <Name key={guest} model={model} number={guest} note={look.owner === null ? "runs here" : "guest"} />
        ))}
      <div>{short(stateText(look.state), 80)}</div>
      <div class="dim">
        since {timeText(began, beganMs, 3)}, {ended === null ? `for ${lasting(length)} so far` : lasting(length)}
      </div>
    </div>
  );
}

function Name({ model, number, note }: { model: Model; number: number; note: string }) {
  return (
    <div>
      <Patch model={model} app={number} /> {short(model.nameOf(number), 40)}
      {note !== "" && <span class="dim"> ({note})</span>}
    </div>
  );
}
