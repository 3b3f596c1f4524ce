// Numbers as a person reads them. Owns nothing; pure.

export function lasting(micros: number): string {
  if (micros < 1000) return `${Math.round(micros)} µs`;
  if (micros < 1e6) return `${round(micros / 1000)} ms`;
  if (micros < 60e6) return `${round(micros / 1e6)} s`;
  const minutes = Math.floor(micros / 60e6);
  const seconds = Math.floor((micros % 60e6) / 1e6);
  return minutes < 60 ? `${minutes} min ${seconds} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${round(value)} ${units[unit]}`;
}

export function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toFixed(value >= 10 ? 1 : 2)));
}

// Signs that are not seen, or turn the direction of the words after them: with them a name could rewrite its line.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Cut to a length that a line can hold, with nothing hidden in it: the names of programs are up to anyone. */
export function short(text: string, most: number): string {
  const signs = Array.from(text.slice(0, most * 2).replace(UNSEEN, "\ufffd"));
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : signs.join("");
}

/** `many(1, "span")` is "1 span", `many(2, "span")` "2 spans". */
export function many(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
