// The picture of the processors with all that the pointer does to it. Owns the canvas element, the pointer and the
// tooltip. The drawing itself is in occupancy.ts; when it happens is decided by the schedule.

import { Component, createRef } from "preact";
import type { Board } from "../board";
import { inBand, layout, rowAt, timeAt, type Layout } from "../layout";
import { Occupancy } from "../occupancy";
import { readTheme, type Theme } from "../theme";
import { Legend } from "./legend";
import { Selection } from "./selection";
import { Tip, type Pointed } from "./tip";

// Movements up to here are a click with an unsteady hand.
const CLICK = 4;

type Span = Pick<Pointed, "look" | "t" | "began" | "ended">;

interface Place {
  x: number;
  y: number;
}

interface Drag {
  x: number;
  far: boolean;
}

export class Picture extends Component<{ board: Board }, { pointed: Pointed | null }> {
  override state = { pointed: null };
  private readonly canvas = createRef<HTMLCanvasElement>();
  private readonly frame = createRef<HTMLDivElement>();
  private occupancy: Occupancy | null = null;
  private theme: Theme | null = null;
  private place: Layout | null = null;
  private drag: Drag | null = null;
  /** Where it was clicked: until the pointer leaves there, no tip covers the words on what was chosen. */
  private clicked: Place | null = null;
  private beginnings = 0;
  /** The row that the arrow keys chose; -1: none. */
  private cursor = -1;
  private x = -1;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private readonly sizes = new ResizeObserver(() => this.resize());

  override componentDidMount() {
    const canvas = this.canvas.current!;
    this.occupancy = new Occupancy(canvas);
    this.sizes.observe(this.frame.current!);
    window.addEventListener("resize", this.resize);
    this.dark.addEventListener("change", this.recolour);
    // A listener of the markup would be passive, and the page would scroll along.
    canvas.addEventListener("wheel", this.wheel, { passive: false });
    this.props.board.schedule.picture = () => this.draw();
    this.props.board.schedule.touched();
  }

  override componentWillUnmount() {
    this.sizes.disconnect();
    window.removeEventListener("resize", this.resize);
    this.dark.removeEventListener("change", this.recolour);
  }

  override render({ board }: { board: Board }, { pointed }: { pointed: Pointed | null }) {
    const cpus = board.model.hello?.cpus.length ?? 0;
    return (
      <section class="picture" aria-labelledby="picture-title">
        <h2 id="picture-title">Who has which processor</h2>
        <div class="frame" ref={this.frame}>
          <canvas
            ref={this.canvas}
            tabIndex={0}
            role="img"
            aria-label={`Occupancy of ${cpus} processors over time. Up and down choose a processor, Enter its program.`}
            aria-describedby="selection"
            data-test="occupancy"
            onPointerDown={this.down}
            onPointerMove={this.move}
            onPointerUp={this.up}
            onPointerLeave={this.leave}
            onPointerCancel={this.leave}
            onKeyDown={this.key}
            onBlur={() => this.point(-1, -1)}
          />
          {cpus === 0 && <p class="empty">Waiting for the first message …</p>}
          {pointed && <Tip board={board} pointed={pointed} />}
        </div>
        <Legend />
        <Selection board={board} />
      </section>
    );
  }

  private draw() {
    const { board } = this.props;
    const { hello } = board.model;
    if (!this.occupancy || !hello) return;
    if (this.beginnings !== board.beginnings) {
      this.beginnings = board.beginnings;
      this.place = null;
      this.cursor = -1;
    }
    this.theme ??= readTheme();
    this.place ??= this.measure();
    const { from, to } = board.window;
    board.drawnDecisions = board.model.decisions.length;
    this.occupancy.draw(
      {
        model: board.model,
        layout: this.place,
        from,
        to,
        end: board.bounds.now,
        chosen: board.choice.app,
        marked: board.choice.decision?.t ?? null,
        pointed: this.cursor >= 0 || this.x >= 0 ? { x: this.x, row: this.cursor } : null,
      },
      this.theme,
    );
  }

  private measure(): Layout {
    const font = parseFloat(getComputedStyle(this.canvas.current!).fontSize);
    const room = Math.max(240, window.innerHeight * 0.52);
    const cpus = this.props.board.model.hello?.cpus ?? [];
    return layout(cpus, this.frame.current!.clientWidth, room, window.devicePixelRatio || 1, font);
  }

  private readonly resize = () => {
    this.place = null;
    this.props.board.schedule.touched();
  };

  private readonly recolour = () => {
    this.theme = null;
    this.props.board.schedule.touched();
  };

  private readonly wheel = (event: WheelEvent) => {
    if (!this.place || event.ctrlKey) return;
    event.preventDefault();
    const { board } = this.props;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      board.pan(event.deltaX / this.place.width);
      return;
    }
    const { from, to } = board.window;
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
    board.zoom(Math.exp(event.deltaY * lines * 0.002), timeAt(this.place, event.offsetX, from, to));
  };

  private readonly down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    this.canvas.current!.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, far: false };
  };

  private readonly move = (event: PointerEvent) => {
    if (!this.place) return;
    if (this.drag) {
      const by = event.offsetX - this.drag.x;
      if (!this.drag.far && Math.abs(by) < CLICK) return;
      this.drag = { x: event.offsetX, far: true };
      this.props.board.pan(-by / (this.place.width - this.place.gutter));
      this.setState({ pointed: null });
      return;
    }
    const { offsetX: x, offsetY: y } = event;
    if (this.clicked && Math.hypot(x - this.clicked.x, y - this.clicked.y) <= CLICK) return;
    this.point(x, rowAt(this.place, y), y);
  };

  private readonly up = (event: PointerEvent) => {
    const click = this.drag !== null && !this.drag.far;
    this.drag = null;
    if (!click || !this.place) return;
    const row = rowAt(this.place, event.offsetY);
    this.clicked = { x: event.offsetX, y: event.offsetY };
    this.setState({ pointed: null });
    this.choose(row, event.offsetX, row >= 0 && inBand(this.place, row, event.offsetY));
  };

  private readonly leave = () => {
    this.drag = null;
    this.point(-1, -1);
  };

  private point(x: number, row: number, y = 0) {
    this.x = x;
    this.cursor = row;
    this.clicked = null;
    const place = this.place;
    const inside = place !== null && row >= 0 && x >= place.gutter;
    const span = inside ? this.span(row, x) : null;
    const lower = place !== null && row >= 0 && inBand(place, row, y);
    const [right, high] = place ? [x > place.width * 0.6, y > (place.height - place.axis) / 2] : [false, false];
    this.setState({ pointed: span && { ...span, row, x, y, lower, right, high } });
    this.props.board.schedule.moved();
  }

  /** The span under the pointer, and when it began and ended. */
  private span(row: number, x: number): Span | null {
    const { board } = this.props;
    const line = board.model.rows[row];
    const { from, to } = board.window;
    const t = timeAt(this.place!, x, from, to);
    const index = line ? line.indexAt(t) : -1;
    if (!line || index < 0 || t > board.bounds.now) return null;
    const look = board.model.looks[line.values[index]!]!;
    return { look, t, began: line.starts[index]!, ended: line.starts[index + 1] ?? null };
  }

  private choose(row: number, x: number, lower: boolean) {
    const { board } = this.props;
    const span = row >= 0 && x >= this.place!.gutter ? this.span(row, x) : null;
    if (!span) return board.clear();
    const { owner, guests } = span.look;
    const guest = guests.find((app) => app !== owner) ?? null;
    const app = lower || owner === null ? (guest ?? owner) : owner;
    if (app === null) board.clear();
    else board.chooseApp(app, span.began);
    board.goTo(span.t);
  }

  private readonly key = (event: KeyboardEvent) => {
    const rows = this.props.board.model.rows.length;
    if (!this.place || rows === 0) return;
    const right = this.place.width - 1;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const by = event.key === "ArrowDown" ? 1 : -1;
      const row = Math.min(rows - 1, Math.max(0, this.cursor < 0 && by < 0 ? rows - 1 : this.cursor + by));
      this.point(right, row, this.place.tops[row]!);
    } else if (event.key === "Enter" && this.cursor >= 0) {
      this.choose(this.cursor, this.x < 0 ? right : this.x, false);
    } else return;
    event.preventDefault();
  };
}
