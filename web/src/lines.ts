// Splits a stream of bytes into lines. It owns the unfinished last line between two pieces of the stream.

export class Lines {
  private readonly decoder = new TextDecoder();
  // The pieces of a line are joined once, at its end: one line may be many megabytes in hundreds of pieces.
  private unfinished: string[] = [];

  /** The lines that these bytes complete. */
  push(bytes: Uint8Array): string[] {
    return this.split(this.decoder.decode(bytes, { stream: true }));
  }

  /** What stands after the last line feed, at the end of the stream. */
  end(): string[] {
    const lines = this.split(this.decoder.decode());
    const rest = this.unfinished.join("");
    this.unfinished = [];
    return rest === "" ? lines : [...lines, rest];
  }

  private split(text: string): string[] {
    const parts = text.split("\n");
    const rest = parts.pop() ?? "";
    if (parts.length > 0) {
      parts[0] = this.unfinished.join("") + parts[0];
      this.unfinished = [];
    }
    if (rest !== "") this.unfinished.push(rest);
    return parts.filter((line) => line.trim() !== "");
  }
}
