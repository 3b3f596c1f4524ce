// Small bars in the table of applications. Own nothing.

import { bytes } from "../format";
import type { App } from "../message";
import { mark } from "../palette";

const WIDTH = 120;

/** What the application has against what it wishes, with its limits; `most` is the end of the scale. */
export function ShareBar({ app, place, most }: { app: App; place: number; most: number }) {
  const at = (count: number) => Math.min(WIDTH, (Math.max(0, count) / Math.max(1, most)) * WIDTH);
  const limit = app.max === null ? "no most" : `at most ${app.max}`;
  return (
    <div class="share" title={`has ${app.count}, wishes for ${app.request}; at least ${app.min}, ${limit}`}>
      <svg viewBox={`-1 0 ${WIDTH + 2} 16`} aria-hidden="true">
        <rect class="wish" x="0.5" y="3.5" width={Math.max(0, at(app.request) - 1)} height="9" />
        <rect x="0" y="5" width={at(app.count)} height="6" fill={mark(place).colour} />
        <path class="limit" d={`M${at(app.min)} 1V15`} />
        {app.max !== null && <path class="limit" d={`M${at(app.max)} 1V15`} />}
      </svg>
      <span>
        <b>{app.count}</b> of {app.request}
      </span>
    </div>
  );
}

/** Memory by node. */
export function Pages({ pages }: { pages: readonly [number, number][] }) {
  const whole = pages.reduce((sum, [, size]) => sum + size, 0);
  if (whole <= 0) return <span class="dim">–</span>;
  let x = 0;
  const parts = pages
    .filter(([, size]) => size > 0)
    .map(([node, size]) => {
      const part = { node, size, x, width: (size / whole) * 60 };
      x += part.width;
      return part;
    });
  const text = parts.map(({ node, size }) => `${node}: ${bytes(size)}`).join(", ");
  const [most] = parts.slice().sort((a, b) => b.size - a.size);
  // For more than two nodes a row has no room; the tooltip has.
  const brief = `${bytes(whole)}, ${Math.round((most!.size / whole) * 100)} % on ${most!.node}`;
  return (
    <div class="pages" title={`memory by node: ${text}`}>
      <svg viewBox="0 0 60 12" aria-hidden="true">
        {parts.map((part) => (
          <rect key={part.node} class={`node${part.node % 4}`} x={part.x} y="1" width={part.width} height="10" />
        ))}
      </svg>
      <span>{parts.length > 2 ? brief : text}</span>
    </div>
  );
}
