// The lines of source around a place, from files on the machine of the server.

import { useId, useState } from "preact/hooks";
import { type Source, useAnswer } from "./api";
import { visible } from "./format";
import { Waiting } from "./waiting";

const TAB = "    ";

/** Lines without tabs and without the indentation that all of them have. */
function plain(lines: string[]): string[] {
  const spaced = lines.map((line) => line.replaceAll("\t", TAB));
  const indents = spaced.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const indent = Math.min(...indents, 200);
  return spaced.map((line) => line.slice(indent));
}

export function SourceLines({ file, line }: { file: string; line: number }) {
  const answer = useAnswer<Source>("source", { file, line });
  return <div class="source"><Waiting answer={answer}>{(data) => <>
    {data.lines !== undefined && <ol class="code" start={data.first} aria-label={`Lines of ${file}`}>{plain(data.lines).map((text, index) => {
      const number = data.first! + index;
      return <li value={number} aria-current={number === line ? "true" : undefined}><code>{visible(text) || " "}</code></li>;
    })}</ol>}
    {data.note !== null && <p class="note">{visible(data.note)}</p>}
  </>}</Waiting></div>;
}

/** A button that shows the lines below itself. */
export function SourceToggle({ file, line }: { file: string; line: number }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return <>
    <button type="button" class="lines" aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} aria-label={`Source of ${file}:${line}`} title="Source"
      onClick={() => setOpen(!isOpen)}>{"{ }"}</button>
    {isOpen && <div id={id}><SourceLines file={file} line={line} /></div>}
  </>;
}
