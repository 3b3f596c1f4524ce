// The colours of the page that the canvases need. The style sheet owns them, as variables; this reads them.

export interface Theme {
  /** Behind everything. */
  ground: string;
  lane: string;
  ink: string;
  dim: string;
  line: string;
  outside: string;
  away: string;
  accent: string;
  family: string;
}

/** Asked for again whenever the reader's system changes between light and dark. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ground: colour("panel"),
    lane: colour("lane"),
    ink: colour("ink"),
    dim: colour("dim"),
    line: colour("line"),
    outside: colour("outside"),
    away: colour("away"),
    accent: colour("accent"),
    family: style.fontFamily,
  };
}
