// The manager's answer to a change, good or bad. Owns nothing.

import type { Answer } from "../changes";

export function AnswerText({ answer }: { answer: Answer | null }) {
  return (
    <span role="status" class={answer && !answer.good ? "answer bad" : "answer"} data-test="answer">
      {answer && (answer.good ? answer.text : [answer.text, answer.next].filter((part) => part !== "").join(" — "))}
    </span>
  );
}
