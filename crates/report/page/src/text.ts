// Texts of measured programs, which may hold anything. They reach a page only as text.

const PICTURES: Record<string, string> = { "\n": "⏎", "\r": "␍", "\t": "⇥", "\0": "␀" };

/** A text in which control characters and marks of direction can be seen. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (character) =>
    PICTURES[character] ?? (character < " " ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : "�"));
}
