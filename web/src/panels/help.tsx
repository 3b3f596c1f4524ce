// The help: keys and signs. Owns the dialog element.

import { Component, createRef } from "preact";
import type { Board } from "../board";

const KEYS: [string, string][] = [
  ["← →", "move in time"],
  ["+ −", "zoom in and out; so does the wheel, at the pointer"],
  ["0", "all that is known"],
  ["f", "follow now (live)"],
  ["↑ ↓, Enter", "in the picture: choose a processor, then its program"],
  ["Tab, Enter", "go through the tables and choose"],
  ["Escape", "close, or choose nothing"],
  ["?", "this help"],
];

export class Help extends Component<{ board: Board }> {
  private readonly dialog = createRef<HTMLDialogElement>();

  override componentDidUpdate() {
    const dialog = this.dialog.current!;
    const { help } = this.props.board;
    if (help && !dialog.open) dialog.showModal();
    else if (!help && dialog.open) dialog.close();
  }

  override render({ board }: { board: Board }) {
    const close = () => board.showHelp(false);
    return (
      <dialog ref={this.dialog} onClose={close} aria-labelledby="help-title" data-test="help">
        <h2 id="help-title">Help</h2>
        <p>
          Each row of the picture is a processor, from left to right goes the time. A program has a letter, a colour
          and, from the thirteenth on, a pattern. Drag to move in time. Click on a span to see whose it is and which
          decision led to it: the list of decisions goes to that time. Click on a decision to see its causes. Live, the
          letters are those of <kbd>numaestro status</kbd> now, and a program that has ended goes by its number.
        </p>
        <dl>
          {KEYS.map(([keys, words]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
        <button type="button" onClick={close}>
          Close
        </button>
      </dialog>
    );
  }
}
