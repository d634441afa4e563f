// What stands in the place of an answer that is not there.

import type { ComponentChildren } from "preact";
import type { Answer } from "./api";
import { visible } from "./format";

export function Waiting<T>({ answer, children }: { answer: Answer<T>; children: (data: T) => ComponentChildren }) {
  if (answer.error !== undefined) return <p class="problem" role="alert">{visible(answer.error)}</p>;
  if (answer.data === undefined) return <p class="muted" aria-busy="true">Computing …</p>;
  return <div aria-busy={answer.busy ? "true" : undefined} class={answer.busy ? "busy" : ""}>{children(answer.data)}</div>;
}
