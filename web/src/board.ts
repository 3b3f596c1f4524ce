// What the page shows: the model, the window of time, the choice of the reader and the state of the connection.
// Owns all of these; each change is told to the schedule.

import type { Decision, Message } from "./message";
import { Model } from "./model";
import { Schedule } from "./schedule";
import { everything, following, panned, settled, showing, zoomed, type Bounds, type View } from "./view";

export type Connection = "connecting" | "live" | "retrying" | "refused" | "file";

export interface Choice {
  app: number | null;
  /** The chosen decision: its number, and the time that is marked. */
  decision: { number: number; t: number } | null;
}

const NOTHING: Choice = { app: null, decision: null };

export class Board {
  readonly model = new Model();
  readonly schedule = new Schedule(() => this.connection === "live");
  connection: Connection = "connecting";
  /** Told in a banner; empty: all is well. */
  problem = "";
  choice = NOTHING;
  /** The time that was clicked on, to which the list of decisions goes; null: it has the newest first. */
  at: { t: number } | null = null;
  help = false;
  /** How often a hello began all anew. */
  beginnings = 0;
  /** How many decisions were known when the picture was drawn last. */
  drawnDecisions = 0;
  /** When the recording began to be read and was read, on the clock of the page. */
  replayed = { began: 0, ended: 0 };

  private view: View = following();
  private heard = performance.now();
  private edge = 0;

  /** The page is served, but the manager cannot be asked: nothing of it is of now. */
  get lost(): boolean {
    return this.connection === "live" && this.problem !== "";
  }

  get live(): boolean {
    return this.model.hello?.live ?? false;
  }

  get bounds(): Bounds {
    return { begin: this.model.begin, now: this.now(), live: this.live };
  }

  get window(): View {
    return settled(this.view, this.bounds);
  }

  receive(messages: readonly Message[]): void {
    for (const message of messages) {
      this.model.apply(message);
      if (message.kind === "hello") this.begin(message.live);
      else if (message.kind === "lost") this.problem = message.problem;
    }
    this.heard = performance.now();
    this.schedule.changed();
  }

  connect(connection: Connection, problem: string): void {
    this.connection = connection;
    this.problem = problem;
    this.heard = performance.now();
    this.schedule.changed();
  }

  zoom(factor: number, at?: number): void {
    const { from, to } = this.window;
    this.look(zoomed(this.view, this.bounds, factor, at ?? (from + to) / 2));
  }

  pan(share: number): void {
    const { from, to } = this.window;
    this.look(panned(this.view, this.bounds, share * (to - from)));
  }

  all(): void {
    this.look(everything);
  }

  follow(): void {
    const { from, to } = this.window;
    if (this.live) this.look(following(Math.min(to - from, 3600e6)));
  }

  chooseApp(app: number | null, at?: number): void {
    const led = app === null || at === undefined ? null : this.model.decisionFor(app, at);
    this.choose({ app, decision: led });
  }

  chooseDecision({ app, number, t }: Decision): void {
    this.view = showing(this.view, this.bounds, t);
    this.choose({ app, decision: { number, t } });
  }

  clear(): void {
    this.at = null;
    this.choose(NOTHING);
  }

  /** The list of decisions goes to this time, or back to the newest. */
  goTo(t: number | null): void {
    this.at = t === null ? null : { t };
    this.schedule.touched();
  }

  showHelp(help: boolean): void {
    this.help = help;
    this.schedule.touched();
  }

  private begin(live: boolean): void {
    this.problem = "";
    this.edge = 0;
    this.choice = NOTHING;
    this.at = null;
    this.beginnings += 1;
    const { from, to } = this.window;
    if (!live) this.view = everything;
    // Who follows now goes on doing so after the connection is back; a fixed window shows times that are no more.
    else if (this.view.mode !== "follow") this.view = following(this.view.mode === "fixed" ? to - from : undefined);
  }

  private choose(choice: Choice): void {
    this.choice = choice;
    this.schedule.touched();
  }

  private look(view: View): void {
    this.view = view;
    this.schedule.touched();
  }

  // Between two messages time goes on; but not for long when nothing is heard, and never back.
  private now(): number {
    const silence = this.connection === "live" ? Math.min(performance.now() - this.heard, 1500) * 1000 : 0;
    this.edge = Math.max(this.edge, this.model.now + (this.live ? silence : 0));
    return this.edge;
  }
}
