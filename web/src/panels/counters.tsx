// Counters at the right edge, and decisions a second over the window. Owns the small canvas.

import { Component, createRef } from "preact";
import type { Board } from "../board";
import { round } from "../format";
import { rates, useAt } from "../summary";
import { readTheme, type Theme } from "../theme";

const HEIGHT = 44;

export class Counters extends Component<{ board: Board }> {
  private readonly canvas = createRef<HTMLCanvasElement>();
  // Asked for once and not at each drawing, where the browser would lay out the whole page to know.
  private width = 0;
  private font = 12;
  private theme: Theme | null = null;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");

  override componentDidMount() {
    new ResizeObserver(() => {
      this.width = this.canvas.current!.clientWidth;
      this.font = parseFloat(getComputedStyle(this.canvas.current!).fontSize);
      this.draw();
    }).observe(this.canvas.current!);
    this.dark.addEventListener("change", () => {
      this.theme = null;
      this.draw();
    });
  }

  override componentDidUpdate() {
    this.draw();
  }

  override render({ board }: { board: Board }) {
    const { model, window } = board;
    const use = useAt(model, window.to);
    const outside = model.status?.outsidePercent;
    const stops = model.status?.stops;
    return (
      <section class="counters" aria-labelledby="counters-title" data-test="counters">
        <h2 id="counters-title">Counters</h2>
        <dl>
          <Counter name="in use" value={String(use.used)} />
          <Counter name="free" value={String(use.free)} />
          <Counter name={`used from outside${use.unknown > 0 ? ", not known which" : ""}`} value={String(use.outside)} />
          <Counter name="reserved, offline" value={String(use.away)} />
          {outside != null && <Counter name="load from outside" value={`${round(outside)} %`} />}
          {stops != null && <Counter name="stops" value={String(stops)} />}
        </dl>
        <div class="rate">
          <canvas ref={this.canvas} role="img" aria-label="decisions a second over the time of the picture" />
          <span>{this.rateText()}</span>
        </div>
      </section>
    );
  }

  private rateText(): string {
    const { model, window } = this.props.board;
    // The last second, or what there is of it.
    const width = Math.min(1e6, window.to - window.from);
    const [now = 0] = rates(model, window.to - width, window.to + 1, 1);
    const shown = round(now);
    return `${shown} ${shown === "1" ? "decision" : "decisions"} a second at the right edge`;
  }

  private draw() {
    const canvas = this.canvas.current!;
    const { width, font } = this;
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    const size = [Math.round(width * ratio), Math.round(HEIGHT * ratio)] as const;
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const context = canvas.getContext("2d")!;
    const theme = (this.theme ??= readTheme());
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    const { model, window } = this.props.board;
    const bins = Math.max(1, Math.floor(width / 3));
    const values = rates(model, window.from, window.to, bins);
    const most = Math.max(...values);
    context.fillStyle = theme.line;
    context.fillRect(0, HEIGHT - 1, width, 1);
    if (most <= 0) return;
    context.fillStyle = theme.accent;
    values.forEach((value, index) => {
      const height = (value / most) * (HEIGHT - font - 3);
      if (value > 0) context.fillRect(index * 3, HEIGHT - 1 - Math.max(1, height), 2, Math.max(1, height));
    });
    context.fillStyle = theme.dim;
    context.font = `${font}px ${theme.family}`;
    context.textBaseline = "top";
    context.fillText(`most: ${round(most)} a second`, 0, 0);
  }
}

function Counter({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
