// The decisions in the window, newest first. Owns the filter and how many are listed.

import { Component, createRef } from "preact";
import { timeText } from "../axis";
import type { Board } from "../board";
import { many, short } from "../format";
import type { Decision } from "../message";
import type { Model } from "../model";
import { afterTime } from "../search";
import { Chain } from "./chain";
import { Patch } from "./patch";

const PORTION = 200;
// Around a time that was clicked on, so many later ones are listed above it.
const AHEAD = 50;

interface State {
  words: string;
  onlyChosen: boolean;
  most: number;
}

export class Decisions extends Component<{ board: Board }, State> {
  override state: State = { words: "", onlyChosen: false, most: PORTION };
  private readonly list = createRef<HTMLDivElement>();
  /** The click to which the list has been moved. */
  private shown: Board["at"] = null;

  override componentDidUpdate() {
    const { at } = this.props.board;
    if (at === this.shown) return;
    this.shown = at;
    const list = this.list.current;
    if (!list) return;
    const row = at && list.querySelector("tr.at");
    // On a narrow screen there is none.
    const head = list.querySelector("thead")!.getBoundingClientRect();
    list.scrollTop += row ? row.getBoundingClientRect().top - list.getBoundingClientRect().top - head.height : 0;
    if (!at) list.scrollTop = 0;
  }

  override render({ board }: { board: Board }, { words, onlyChosen, most }: State) {
    const { model, choice } = board;
    const { found, newer, later, more } = this.find();
    const began = model.hello?.beganMs ?? null;
    return (
      <section class="decisions" aria-labelledby="decisions-title">
        <h2 id="decisions-title">Decisions</h2>
        {choice.decision && <Chain board={board} number={choice.decision.number} />}
        <div class="filter">
          <label>
            with the words{" "}
            <input
              type="search"
              value={words}
              data-test="filter"
              onInput={(event) => this.setState({ words: event.currentTarget.value, most: PORTION })}
            />
          </label>
          <label>
            <input
              type="checkbox"
              checked={onlyChosen}
              data-test="only-chosen"
              onChange={(event) => this.setState({ onlyChosen: event.currentTarget.checked, most: PORTION })}
            />{" "}
            only of the chosen program
          </label>
        </div>
        {found.length === 0 ? (
          <p class="empty">{this.empty()}</p>
        ) : (
          <div class="list" data-test="decisions" ref={this.list}>
            {newer && (
              <button type="button" class="more" onClick={() => board.goTo(null)} data-test="newest">
                to the newest ones
              </button>
            )}
            <table>
              <thead>
                <tr>
                  <th scope="col">time</th>
                  <th scope="col">program</th>
                  <th scope="col">what happened → rule → what was done</th>
                  <th scope="col" class="number">
                    processors
                  </th>
                </tr>
              </thead>
              <tbody>
                {found.map((decision, index) => (
                  <Line
                    key={`${decision.number} ${decision.app} ${keyOf(found, index)}`}
                    decision={decision}
                    model={model}
                    sign={decision.app === null ? "" : model.signOf(decision.app)}
                    began={began}
                    chosen={choice.decision?.number === decision.number}
                    at={board.at !== null && index === later}
                    choose={this.choose}
                  />
                ))}
              </tbody>
            </table>
            {more && (
              <button type="button" class="more" onClick={() => this.setState({ most: most + PORTION })}>
                more ({found.length} are listed)
              </button>
            )}
          </div>
        )}
      </section>
    );
  }

  private readonly choose = (decision: Decision) => this.props.board.chooseDecision(decision);

  /** Those that are listed; how many of them are later than the click; whether there are newer and older ones. */
  private find(): { found: Decision[]; newer: boolean; later: number; more: boolean } {
    const { model, window, choice, at } = this.props.board;
    const { words, onlyChosen, most } = this.state;
    const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const fits = (decision: Decision) =>
      !(onlyChosen && choice.app !== null && decision.app !== choice.app) &&
      (wanted.length === 0 || matches(decision, wanted, model));
    const end = afterTime(model.decisions, window.to);
    const begin = at ? Math.min(end, afterTime(model.decisions, at.t)) : end;
    const found: Decision[] = [];
    let newer = false;
    for (let i = begin; i < end && !newer; i += 1) {
      const decision = model.decisions[i]!;
      if (!fits(decision)) continue;
      if (found.length === AHEAD) newer = true;
      else found.unshift(decision);
    }
    const later = found.length;
    for (let i = begin - 1; i >= 0; i -= 1) {
      const decision = model.decisions[i]!;
      if (decision.t < window.from) break;
      if (!fits(decision)) continue;
      if (found.length === later + most) return { found, newer, later, more: true };
      found.push(decision);
    }
    return { found, newer, later, more: false };
  }

  private empty(): string {
    const { model, window, live } = this.props.board;
    const { words, onlyChosen } = this.state;
    const inWindow = afterTime(model.decisions, window.to) - afterTime(model.decisions, window.from - 1);
    if (inWindow > 0 && (words !== "" || onlyChosen)) {
      return `None of the ${many(inWindow, "decision")} in the picture's time fits the filter.`;
    }
    if (model.decisions.length > 0) return "No decision was made in the picture's time. Zoom out to see earlier ones.";
    return live ? "No decision is known yet." : "No decision was made in the time of this recording.";
  }
}

// Entries of one number about the same application are told apart by their place among these.
function keyOf(found: readonly Decision[], index: number): number {
  const { number, app } = found[index]!;
  let same = 0;
  for (let i = index + 1; i < found.length && found[i]!.number === number; i += 1) {
    if (found[i]!.app === app) same += 1;
  }
  return same;
}

function matches({ number, app, event, rule, section, action }: Decision, wanted: string[], model: Model): boolean {
  const name = app === null ? "" : model.nameOf(app);
  const text = `${number} ${name} ${event} ${rule} ${section} ${action}`.toLowerCase();
  return wanted.every((word) => text.includes(word));
}

interface LineProps {
  decision: Decision;
  model: Model;
  /** What its program is called now, live another letter after others have ended. */
  sign: string;
  began: number | null;
  chosen: boolean;
  /** The last one before the time that was clicked on. */
  at: boolean;
  choose: (decision: Decision) => void;
}

class Line extends Component<LineProps> {
  // Two hundred of them stand there while new ones arrive: only what differs is made anew.
  override shouldComponentUpdate(next: LineProps) {
    const { decision, chosen, at, sign } = this.props;
    return next.decision !== decision || next.chosen !== chosen || next.at !== at || next.sign !== sign;
  }

  override render({ decision, model, began, chosen, at, choose }: LineProps) {
    const { t, number, app, event, rule, section, action, before, after } = decision;
    return (
      <tr class={`${chosen ? "chosen" : ""} ${at ? "at" : ""}`} onClick={() => choose(decision)} data-test={`decision-${number}`}>
        <td>
          <button type="button" class="name" title={`decision ${number}: show its causes`} aria-pressed={chosen}>
            {timeText(t, began, 3)}
          </button>
        </td>
        <td class="program">
          {app !== null && (
            <>
              <Patch model={model} app={app} /> <span>{short(model.nameOf(app), 40)}</span>
            </>
          )}
        </td>
        <td class="story">
          {short(event, 300)} <i>→</i> {short(rule, 300)}
          {section !== "" && <span class="dim"> ({short(section, 80)})</span>} <i>→</i> {short(action, 300)}
        </td>
        <td class="number" data-name={app === null ? undefined : "processors"}>
          {app === null ? "" : before === after ? before : `${before} → ${after}`}
        </td>
      </tr>
    );
  }
}
