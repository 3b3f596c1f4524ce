// Asks the manager to change something. Owns nothing; the answer is told as it came.

export interface Answer {
  good: boolean;
  text: string;
  /** What to do after a refusal; may be empty. */
  next: string;
}

export interface Change {
  app: number;
  max?: number | null;
  min?: number;
  weight?: number;
}

export type Post = (path: "/set" | "/policy", body: Change | { policy: string }) => Promise<Answer>;

export const poster = (token: string): Post => async (path, body) => {
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const told = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
    const word = (name: string) => (typeof told[name] === "string" ? (told[name] as string) : "");
    if (answer.ok) return { good: true, text: word("message") || "done", next: "" };
    return { good: false, text: word("error") || `the answer was ${answer.status}`, next: word("next") };
  } catch (error) {
    return { good: false, text: `not sent: ${(error as Error).message}`, next: "Wait for the connection." };
  }
};

const FIELDS: Record<string, string> = { min: "at least", max: "at most", weight: "weight" };

/** The manager's answer speaks of options of the command line; the form has fields with other names. */
export function inWordsOfTheForm({ good, text, next }: Answer): Answer {
  const fields = (words: string) =>
    words
      .replace(/--max none\b/g, "an empty “at most”")
      .replace(/--(min|max|weight)\b/g, (_, option: string) => `“${FIELDS[option]}”`);
  return { good, text: fields(text), next: fields(next) };
}

/** The body of /set: only what differs from `old`. Null: nothing does. */
export function change(
  app: number, old: { min: number; max: number | null; weight: number },
  wanted: { min: string; max: string; weight: string },
): Change | null {
  const body: Change = { app };
  const max = wanted.max.trim() === "" ? null : Number(wanted.max);
  if (max !== old.max) body.max = max;
  if (wanted.min.trim() !== "" && Number(wanted.min) !== old.min) body.min = Number(wanted.min);
  if (wanted.weight.trim() !== "" && Number(wanted.weight) !== old.weight) body.weight = Number(wanted.weight);
  return Object.keys(body).length > 1 ? body : null;
}
