// From bytes to a profile: decompression, lines, JSON. A profile may be compressed, cut, damaged or
// still growing; the reader keeps what it could read and says what is wrong with the rest.

import { Profile, ProfileError } from "./profile";

export class Reader {
  readonly profile = new Profile();
  /** Uncompressed bytes so far: where a growing profile continues. */
  byteCount = 0;
  /** Why the profile ends early, or null. */
  incomplete: string | null = null;
  private decoder = new TextDecoder();
  private parts: string[] = [];
  private lineNumber = 0;

  push(bytes: Uint8Array): void {
    this.byteCount += bytes.length;
    const text = this.decoder.decode(bytes, { stream: true });
    let from = 0;
    for (;;) {
      const to = text.indexOf("\n", from);
      if (to < 0) break;
      this.parts.push(text.slice(from, to));
      const line = this.parts.length === 1 ? this.parts[0]! : this.parts.join("");
      this.parts.length = 0;
      this.line(line, false);
      from = to + 1;
    }
    if (from < text.length) this.parts.push(from === 0 ? text : text.slice(from));
  }

  /** The bytes are over: takes a last line without its newline, and says whether the profile was ended. */
  finish(): void {
    const rest = this.parts.join("");
    this.parts.length = 0;
    if (rest.trim() !== "") this.line(rest, true);
    if (this.profile.header === null) throw new ProfileError("The profile is empty.");
    if (this.profile.end === null) {
      this.incomplete ??= "The profile is incomplete, since its end is missing: the program was killed, or the file was cut.";
    }
    this.profile.trim();
  }

  private line(line: string, last: boolean): void {
    this.lineNumber += 1;
    if (line.trim() === "") return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      if (this.profile.header === null) {
        throw new ProfileError(
          last && line.startsWith('{"profile"')
            ? "The profile is cut within its first line: nothing of it can be shown."
            : "This is not a profile of Canny: the first line is not JSON.",
        );
      }
      if (last) this.incomplete ??= "The profile is incomplete, since its last line is cut: the program was killed, or the file was cut.";
      else this.profile.fault(`line ${this.lineNumber} is not JSON and was ignored`);
      return;
    }
    this.profile.append(value);
  }
}

export function isCompressed(bytes: Uint8Array): boolean {
  return bytes.length >= 2 && bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Reads a stream to its end, compressed or not, and reports the bytes of input that were taken. */
export async function readStream(
  reader: Reader, stream: ReadableStream<Uint8Array>, progress: (bytes: number) => void,
): Promise<void> {
  const source = stream.getReader();
  let first = await source.read();
  while (!first.done && first.value.length === 0) first = await source.read();
  if (first.done) throw new ProfileError("The profile is empty.");
  const head = first.value;
  let taken = head.length;
  const rest = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(head);
    },
    async pull(controller) {
      const next = await source.read();
      if (next.done) controller.close();
      else {
        taken += next.value.length;
        controller.enqueue(next.value);
      }
    },
  });
  const compressed = isCompressed(head);
  if (compressed && typeof DecompressionStream === "undefined") {
    throw new ProfileError("This browser cannot decompress gzip. Use a newer one, or open the profile uncompressed.");
  }
  const plain = compressed
    ? rest.pipeThrough(new DecompressionStream("gzip") as unknown as ReadableWritablePair<Uint8Array, Uint8Array>)
    : rest;
  const output = plain.getReader();
  for (;;) {
    let chunk;
    try {
      chunk = await output.read();
    } catch (error) {
      if (!compressed || error instanceof ProfileError) throw error;
      reader.incomplete = "The profile is incomplete: its compressed data are cut or damaged.";
      if (reader.byteCount === 0) {
        throw new ProfileError("The compressed data are damaged: nothing of the profile can be shown.");
      }
      return;
    }
    if (chunk.done) return;
    reader.push(chunk.value);
    progress(taken);
  }
}

/**
 * The bytes of a text in base64 as a stream, decoded piece by piece: a long profile is then never in
 * memory as a whole. White space in the text is skipped.
 */
export function base64Stream(text: string): ReadableStream<Uint8Array> {
  const step = 1 << 18;
  let at = 0;
  let rest = "";
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= text.length && rest === "") {
        controller.close();
        return;
      }
      let piece = rest + text.slice(at, at + step);
      at += step;
      if (/\s/.test(piece)) piece = piece.replace(/\s+/g, "");
      // Four characters are three bytes; what is over waits for the next piece.
      const whole = at >= text.length ? piece.length : piece.length - (piece.length % 4);
      rest = piece.slice(whole);
      if (whole === 0) {
        if (at >= text.length) controller.close();
        else controller.enqueue(new Uint8Array(0));
        return;
      }
      try {
        controller.enqueue(decodeBase64(piece.slice(0, whole)));
      } catch {
        controller.error(new ProfileError("The profile in this page is damaged: it is not base64."));
      }
    },
  });
}

function decodeBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (native !== undefined) return native.call(Uint8Array, text);
  const binary = atob(text);
  const result = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) result[index] = binary.charCodeAt(index);
  return result;
}
