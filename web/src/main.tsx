// Begins the page. Owns the board, and tells the panels when to render.

import { Component, render } from "preact";
import { Board } from "./board";
import { poster, type Post } from "./changes";
import { stay, takeToken } from "./connection";
import { short } from "./format";
import { listen } from "./keys";
import { Applications } from "./panels/applications";
import { Banner } from "./panels/banner";
import { Counters } from "./panels/counters";
import { Decisions } from "./panels/decisions";
import { Header } from "./panels/header";
import { Help } from "./panels/help";
import { Picture } from "./panels/picture";
import { recording, replay } from "./recording";
import "./style.css";
import "./panels.css";
import "./screens.css";

interface Props {
  board: Board;
  post: Post;
}

class Page extends Component<Props> {
  override componentDidMount() {
    this.props.board.schedule.panels = () => this.forceUpdate();
  }

  override render({ board, post }: Props) {
    document.title = board.model.hello ? `${short(board.model.hello.title, 80)} · numaestro` : "numaestro";
    return (
      <>
        <Header board={board} post={post} />
        <Banner board={board} />
        <main>
          <div class="left">
            <Picture board={board} />
            <Applications board={board} post={post} />
          </div>
          <div class="right">
            <Counters board={board} />
            <Decisions board={board} />
          </div>
        </main>
        <Help board={board} />
      </>
    );
  }
}

/** What the page shows now, for tests in a browser. */
function shown(board: Board) {
  const { model, window: part } = board;
  return {
    t: part.to,
    from: part.from,
    spans: model.spans,
    decisions: model.decisions.length,
    apps: model.present(part.to).map(({ app, name, count, request }) => {
      return { app, letter: model.signOf(app), name, count, request };
    }),
    policy: model.policy,
    connection: board.connection,
    chosen: board.choice,
    lastDrawn: board.schedule.lastDrawn,
    drawing: board.schedule.drawing,
    drawnDecisions: board.drawnDecisions,
    replayed: board.replayed,
  };
}

const file = recording();
const token = file ? "" : takeToken();
const board = new Board();
render(<Page board={board} post={poster(token)} />, document.getElementById("app")!);
listen(board);
Object.assign(window, { numaestroDashboard: { shown: () => shown(board) } });
void (file ? replay(board, file) : stay(board, token));
