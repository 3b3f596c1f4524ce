// The table of shares and wishes. Owns the order of the rows and which one is open for changes.

import { Component, Fragment } from "preact";
import type { Board } from "../board";
import type { Post } from "../changes";
import { round, short } from "../format";
import type { App, AppStatus } from "../message";
import { Pages, ShareBar } from "./bars";
import { Limits } from "./limits";
import { Patch } from "./patch";

interface Row {
  app: App;
  place: number;
  status: AppStatus | undefined;
  /** It is there at the right edge; otherwise it is in the table because it is chosen. */
  there: boolean;
}

interface Column {
  name: string;
  title?: string;
  number?: boolean;
  /** What it is sorted by; numbers begin with the largest. */
  by?: (row: Row) => number | string;
}

const COLUMNS: Column[] = [
  { name: "program", by: ({ app }) => app.name.slice(0, 100) },
  { name: "number", number: true, by: ({ app }) => app.app },
  { name: "user", by: ({ status }) => status?.user ?? "" },
  { name: "state", by: ({ app }) => app.state },
  { name: "has of wished", title: "the marks are its least and its most", by: ({ app }) => app.count },
  { name: "weight", number: true, by: ({ app }) => app.weight },
  { name: "CPU", number: true, title: "100 % is one processor", by: ({ status }) => status?.cpuPercent ?? -1 },
  { name: "memory by node", by: ({ status }) => status?.pages.reduce((sum, [, size]) => sum + size, 0) ?? -1 },
  { name: "why" },
];

interface Props {
  board: Board;
  post: Post;
}

interface State {
  column: number | null;
  down: boolean;
  open: number | null;
}

export class Applications extends Component<Props, State> {
  override state: State = { column: null, down: true, open: null };

  override render({ board }: Props) {
    const rows = this.sorted(rowsOf(board));
    const most = rows.reduce((sum, { app }) => Math.max(sum, app.count, app.request, app.min, app.max ?? 0), 1);
    // A most that is far beyond the machine would make all bars short.
    const scale = Math.min(most, Math.max(board.model.rows.length, 1));
    return (
      <section class="applications" aria-labelledby="applications-title">
        <h2 id="applications-title">Shares against wishes</h2>
        {rows.length === 0 ? (
          <p class="empty" data-test="no-applications">
            {empty(board)}
          </p>
        ) : (
          <div class="scroll">
            <table data-test="applications">
              <thead>
                <tr>
                  {COLUMNS.map((column, index) => this.heading(column, index))}
                  {this.mayChange() && <th scope="col">change</th>}
                </tr>
              </thead>
              <tbody>{rows.map((row) => this.row(row, scale))}</tbody>
            </table>
          </div>
        )}
      </section>
    );
  }

  private heading({ name, title, number, by }: Column, index: number) {
    if (!by) return <th scope="col">{name}</th>;
    const { column, down } = this.state;
    const order = column !== index ? "none" : down ? "descending" : "ascending";
    return (
      <th scope="col" class={number ? "number" : ""} aria-sort={order}>
        <button type="button" class="heading" title={title ?? "sort"} onClick={() => this.sort(index)}>
          {name}
          <span aria-hidden="true">{column !== index ? "" : down ? " ▾" : " ▴"}</span>
        </button>
      </th>
    );
  }

  private row({ app, place, status, there }: Row, scale: number) {
    const { board, post } = this.props;
    const chosen = board.choice.app === app.app;
    const open = this.state.open === app.app && this.mayChange();
    const choose = () => board.chooseApp(chosen ? null : app.app, board.window.to);
    return (
      <Fragment key={app.app}>
        <tr class={`${chosen ? "chosen" : ""} ${there ? "" : "gone"}`} onClick={choose} data-test={`app-${app.app}`}>
          <td>
            <button type="button" class="name" aria-pressed={chosen} title={short(app.name, 300)}>
              <Patch model={board.model} app={app.app} /> <span>{short(app.name, 60) || "(no name)"}</span>
            </button>
          </td>
          <td class="number" data-name="number">
            {app.app}
          </td>
          <td data-name="user">{short(status?.user ?? "–", 24)}</td>
          <td>{there ? stateOf(app) : "gone"}</td>
          <td>
            <ShareBar app={app} place={place} most={scale} />
          </td>
          <td class="number" data-name="weight">
            {round(app.weight)}
          </td>
          <td class="number" data-name="CPU">
            {status?.cpuPercent == null ? "–" : `${status.cpuPercent.toFixed(0)} %`}
          </td>
          <td data-name="memory">
            <Pages pages={status?.pages ?? []} />
          </td>
          <td class="why">{short(app.why, 400)}</td>
          {this.mayChange() && <td>{status?.mine && there && this.opener(app.app, open)}</td>}
        </tr>
        {open && (
          <tr class="form">
            <td colSpan={COLUMNS.length + 1}>
              <Limits key={app.app} app={app} post={post} />
            </td>
          </tr>
        )}
      </Fragment>
    );
  }

  private opener(app: number, open: boolean) {
    const click = (event: Event) => {
      // Not also a choice of the row.
      event.stopPropagation();
      this.setState({ open: open ? null : app });
    };
    return (
      <button type="button" class="small" aria-expanded={open} onClick={click} data-test={`change-${app}`}>
        limits
      </button>
    );
  }

  private mayChange(): boolean {
    const { board } = this.props;
    return board.live && board.connection !== "refused";
  }

  private sort(index: number) {
    const { column, down } = this.state;
    this.setState({ column: index, down: column === index ? !down : true });
  }

  private sorted(rows: Row[]): Row[] {
    const { column, down } = this.state;
    const by = column === null ? undefined : COLUMNS[column]?.by;
    if (!by) return rows;
    const sign = down ? 1 : -1;
    return rows.sort((a, b) => {
      const [x, y] = [by(a), by(b)];
      const order = typeof x === "number" && typeof y === "number" ? y - x : String(x).localeCompare(String(y));
      return sign * order || a.place - b.place;
    });
  }
}

function rowsOf({ model, window, bounds, choice }: Board): Row[] {
  const place = (app: number) => model.application(app).place;
  const rows = model.present(window.to).map((app) => row(app, true));
  if (choice.app !== null && !rows.some(({ app }) => app.app === choice.app)) {
    const gone = model.latest(choice.app);
    if (gone) rows.push(row(gone, false));
  }
  return rows;

  function row(app: App, there: boolean): Row {
    const status = model.statusOf(app.app);
    // The load is known for now only; whose it is stays true.
    const old = window.to < bounds.now - 3e6;
    const known = status && old ? { ...status, cpuPercent: null, pages: [] } : status;
    return { app, place: place(app.app), status: known, there };
  }
}

function empty({ model, live, window, bounds }: Board): string {
  if (!model.hello) return "Waiting for the first message …";
  if (live && window.to >= bounds.now - 3e6) return "No program is managed now: `numaestro run -- ./program`";
  return "No program was managed at the right edge of the picture.";
}

const stateOf = ({ state, shared, lent }: App) =>
  [short(state, 24), shared && "shared", lent && "lent"].filter((word) => word).join(", ");
