// When something is drawn. Owns the one pending animation frame and the pending rendering of the panels.

// Panels are words: they are read, not watched, and cost more than the picture.
const PANELS_APART = 60;
const TICK = 250;
// The longest that the picture waits: a decision is to be seen within a tenth of a second.
const PICTURE_RESTS = 50;

export class Schedule {
  /** When the picture was drawn last, and how long that took. */
  lastDrawn = 0;
  drawing = 0;
  picture: () => void = () => {};
  panels: () => void = () => {};

  private frame = 0;
  private later: ReturnType<typeof setTimeout> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private nextPanels = 0;

  constructor(running: () => boolean) {
    setInterval(() => running() && this.changed(), TICK);
  }

  /** What is known has changed. */
  changed(): void {
    this.renderLater();
    // Many changes a second must not keep a slow machine busy with a large picture.
    const rest = Math.min(2 * this.drawing, PICTURE_RESTS) - (performance.now() - this.lastDrawn);
    if (rest <= 0) this.drawSoon();
    else this.later ??= setTimeout(() => this.drawSoon(), rest);
  }

  /** The reader has changed what is shown, and is waiting for it. */
  touched(): void {
    this.renderLater();
    this.drawSoon();
  }

  /** Only the picture has changed, as with each move of the pointer. */
  moved(): void {
    this.drawSoon();
  }

  private drawSoon(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(this.drawFrame);
  }

  private renderLater(): void {
    this.timer ??= setTimeout(this.renderPanels, Math.max(0, this.nextPanels - performance.now()));
  }

  private readonly drawFrame = () => {
    this.frame = 0;
    clearTimeout(this.later);
    this.later = undefined;
    const began = performance.now();
    this.picture();
    this.lastDrawn = performance.now();
    this.drawing = this.lastDrawn - began;
  };

  private readonly renderPanels = () => {
    this.timer = undefined;
    const began = performance.now();
    this.panels();
    // On a slow machine they leave three quarters of the time to the picture.
    const ended = performance.now();
    this.nextPanels = ended + Math.max(PANELS_APART, 3 * (ended - began));
  };
}
