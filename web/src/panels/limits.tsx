// The form that changes the limits of one application. Owns what was typed and the answer.

import { Component } from "preact";
import { change, inWordsOfTheForm, type Answer, type Post } from "../changes";
import type { App } from "../message";
import { AnswerText } from "./answer";

interface Props {
  app: App;
  post: Post;
}

export class Limits extends Component<Props, { answer: Answer | null; asking: boolean }> {
  override state = { answer: null, asking: false };

  override render({ app }: Props) {
    const { answer, asking } = this.state;
    return (
      <form
        class="limits"
        onSubmit={this.submit}
        onInput={this.forget}
        onInvalidCapture={this.forget}
        data-test="limits"
      >
        <label>
          at least <input name="min" type="number" min="0" step="1" defaultValue={String(app.min)} />
        </label>
        <label>
          at most{" "}
          <input name="max" type="number" min="1" step="1" placeholder="no limit" defaultValue={text(app.max)} />
        </label>
        <label>
          weight <input name="weight" type="number" min="0" step="any" defaultValue={String(app.weight)} />
        </label>
        <button type="submit" disabled={asking}>
          Apply
        </button>
        <AnswerText answer={answer} />
      </form>
    );
  }

  // An answer is about what was sent, not about what is typed now.
  private readonly forget = () => this.state.answer && this.setState({ answer: null });

  private readonly submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const { app, post } = this.props;
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const typed = (name: string) => String(data.get(name) ?? "");
    const body = change(app.app, app, { min: typed("min"), max: typed("max"), weight: typed("weight") });
    if (!body) {
      this.setState({ answer: { good: true, text: "Nothing is different from what it is now.", next: "" } });
      return;
    }
    this.setState({ asking: true, answer: null });
    this.setState({ answer: inWordsOfTheForm(await post("/set", body)), asking: false });
  };
}

const text = (max: number | null) => (max === null ? "" : String(max));
