// The first line: title, policy and its switch, connection, time, buttons. Owns the policy that was picked and the
// answer to the switch.

import { Component } from "preact";
import { timeText } from "../axis";
import type { Board, Connection } from "../board";
import type { Answer, Post } from "../changes";
import { short } from "../format";
import { AnswerText } from "./answer";

const STATES: Record<Connection, string> = {
  connecting: "connecting …",
  live: "live",
  retrying: "connection lost",
  refused: "link not valid",
  file: "recording",
};

interface Props {
  board: Board;
  post: Post;
}

export class Header extends Component<Props, { picked: string | null; answer: Answer | null; asking: boolean }> {
  override state = { picked: null, answer: null, asking: false };

  override render({ board }: Props) {
    const { hello } = board.model;
    const { mode, to } = board.window;
    return (
      <header>
        <h1>
          numaestro <span class="title">{short(hello?.title ?? "", 80)}</span>
        </h1>
        <div class="policy" data-test="policy">
          {this.policy()}
        </div>
        <span class={`connection ${board.lost ? "lost" : board.connection}`} data-test="connection">
          {board.lost ? "no manager" : STATES[board.connection]}
        </span>
        <time data-test="time" title="time of the right edge of the picture">
          {hello ? timeText(to, hello.beganMs, hello.beganMs === null ? 1 : 0) : ""}
        </time>
        <div class="buttons">
          {board.live && (
            <button type="button" aria-pressed={mode === "follow"} onClick={() => board.follow()} title="key f">
              Follow now
            </button>
          )}
          <button type="button" aria-pressed={mode === "all"} onClick={() => board.all()} title="key 0">
            All
          </button>
          <button type="button" onClick={() => board.zoom(0.5)} aria-label="zoom in" title="zoom in, key +">
            +
          </button>
          <button type="button" onClick={() => board.zoom(2)} aria-label="zoom out" title="zoom out, key −">
            −
          </button>
          <button type="button" onClick={() => board.showHelp(true)} aria-label="help" title="help, key ?">
            ?
          </button>
        </div>
      </header>
    );
  }

  private policy() {
    const { board } = this.props;
    const { hello, policy } = board.model;
    if (!hello) return null;
    const { picked, answer, asking } = this.state;
    if (!hello.live || !hello.mayPolicy || board.connection === "refused") {
      return (
        <>
          policy <b>{policy}</b>
        </>
      );
    }
    const names = hello.policies.includes(policy) ? hello.policies : [policy, ...hello.policies];
    const shown = picked ?? policy;
    return (
      <form onSubmit={this.submit}>
        <label>
          policy{" "}
          <select value={shown} onChange={(event) => this.setState({ picked: event.currentTarget.value })}>
            {names.map((name) => (
              <option key={name} value={name} selected={name === shown}>
                {name === policy ? `${name} (now)` : name}
              </option>
            ))}
          </select>
        </label>{" "}
        <button type="submit" disabled={asking || shown === policy} data-test="switch-policy">
          Switch
        </button>{" "}
        <AnswerText answer={answer} />
      </form>
    );
  }

  private readonly submit = async (event: Event) => {
    event.preventDefault();
    const policy = this.state.picked;
    if (policy === null) return;
    this.setState({ asking: true, answer: null });
    const answer = await this.props.post("/policy", { policy });
    // After a refusal the pick stays, for another try.
    this.setState({ answer, asking: false, picked: answer.good ? null : policy });
  };
}
