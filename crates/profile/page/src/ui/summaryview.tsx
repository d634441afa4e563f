// The first view: what ran, where the time went, and sentences that say why.

import type { ComponentChildren } from "preact";
import { change, useAppState } from "../state";
import type { Queries } from "../engine";
import { FunctionLink, Legend, Nothing, Stack, Tiers, Bar } from "./parts";
import { functionName, groupOf, useQuery, useShared } from "./context";
import { GROUP_NAMES, TIER_NAMES, count, percent, size, time, visible } from "./format";

type Data = Queries["summary"]["result"];

function Tile({ name, value, children, onClick }: {
  name: string; value: string; children?: ComponentChildren; onClick?: () => void;
}) {
  const body = <><dt>{name}</dt><dd>{value}</dd>{children !== undefined && <p>{children}</p>}</>;
  return onClick
    ? <button type="button" class="tile" onClick={onClick}><dl>{body}</dl></button>
    : <div class="tile"><dl>{body}</dl></div>;
}

/** What the figures themselves say. */
function findings(data: Data): string[] {
  const result: string[] = [];
  const { cpu } = data;
  if (cpu <= 0) return result;
  const collector = data.groups[3]! / cpu;
  if (collector > 0.12) {
    result.push(`The collector takes ${percent(collector)} of the processor time. The view Allocation shows who allocates.`);
  }
  const compiler = data.groups[4]! / cpu;
  if (compiler > 0.1) {
    result.push(`The compiler and optimizer take ${percent(compiler)} of the processor time: the run is short, or code is compiled again and again.`);
  }
  const interpreted = data.tiers[0]! / cpu;
  if (interpreted > 0.15) {
    result.push(`${percent(interpreted)} of the processor time is spent in the interpreter.`);
  }
  const deoptimizations = data.events.find((event) => event.kind === "deoptimization");
  if (deoptimizations && deoptimizations.count > 20) {
    const most = data.deoptimized[0];
    result.push(`Compiled code was deoptimized ${count(deoptimizations.count)} times` +
      (most && most.text !== "" ? `, most often (${count(most.count)} times): ${visible(most.text)}.` : "."));
  }
  if (data.runnable > 0.05 * data.cpu) {
    result.push(`Tasks were runnable but not running for ${time(data.runnable)} in total: there were more of them than processors, or one held its processor for long.`);
  }
  if (data.groups[11]! / cpu > 0.25) {
    result.push(`The kernel takes ${percent(data.groups[11]! / cpu)} of the processor time: system calls, page faults, or input and output.`);
  }
  return result;
}

export function SummaryView() {
  const { meta } = useShared();
  const state = useAppState();
  const { data, error } = useQuery("summary", {});
  if (error !== null) return <Nothing>{error}</Nothing>;
  if (data === null) return <div class="scroll" aria-busy="true" />;
  const { table } = data;
  const order = Array.from(table.function.keys()).sort((a, b) => table.self[b]! - table.self[a]!);
  const hottest = order.filter((index) => table.self[index]! > 0).slice(0, 10);
  const most = hottest.length > 0 ? table.self[hottest[0]!]! : 1;
  const sum = table.sum || 1;
  const groups = GROUP_NAMES.map((name, group) => ({ name, color: `group-${group}`, share: data.groups[group]! / (data.cpu || 1) }))
    .sort((a, b) => b.share - a.share);
  const tiers = TIER_NAMES.map((name, tier) => ({ name, color: `tier-${tier}`, share: data.tiers[tier]! / sum }));
  const collections = data.events.find((event) => event.kind === "collection");
  const { header } = meta;
  const command = [header.program, ...header.arguments].map(visible).join(" ");
  const isHot = new Set(hottest.map((index) => table.function[index]!));
  const notes = data.notes.filter((note) => note.weight > 0 || isHot.has(note.function) || note.function < 0).slice(0, 12);
  const found = findings(data);
  return (
    <div class="scroll summary">
      <section class="what">
        <h2 class="command" title={command}>{command || "(no name)"}</h2>
        <p class="muted">
          {header.started > 0 && <>{new Date(header.started / 1e6).toLocaleString()} · </>}
          process {header.pid} · canny {visible(header.canny)}
          {header.interval > 0 && meta.counts.samples > 0 && <> · a sample every {time(header.interval)} of processor time</>}
        </p>
      </section>
      <div class="tiles">
        <Tile name="Lasted" value={time(data.wall)}>{state.from !== null || state.to !== null ? "of the chosen range" : `from start to ${meta.ended ? "end" : "the last event"}`}</Tile>
        <Tile name="Processor time" value={time(data.cpu)} onClick={() => change({ view: "flame", measure: "cpu" })}>
          {data.wall > 0 ? `${(data.cpu / data.wall).toFixed(2)} processors in use` : ""}
          {data.counted ? "exact counts" : `, ${count(data.samples)} samples`}
        </Tile>
        <Tile name="Waiting" value={data.waitCount === 0 ? "none" : time(data.waiting)} onClick={() => change({ view: "waits" })}>
          {data.waitCount === 0 ? "no waits recorded" : `${count(data.waitCount)} waits of all tasks; ${time(data.runnable)} runnable`}
        </Tile>
        <Tile name="Collections" value={collections ? count(collections.count) : "none"} onClick={() => change({ view: "timeline" })}>
          {collections ? `${time(collections.total)} in total, longest ${time(collections.longest)}` : "no collection recorded"}
        </Tile>
        {meta.counts.allocations > 0 && (
          <Tile name="Allocated" value={size(data.allocated)} onClick={() => change({ view: "allocation" })}>
            {size(data.live)} live at the end
          </Tile>
        )}
      </div>
      {data.cpu > 0 && !data.counted && (
        <section class="card">
          <h3>Where the processor time went</h3>
          <Stack parts={groups} label="Processor time by group" />
          <Legend parts={groups} />
          <Stack parts={tiers} label="Processor time by tier" thin />
          <Legend parts={tiers} />
        </section>
      )}
      <div class="columns">
        <section class="card">
          <h3>Hottest functions <small>own time</small></h3>
          {hottest.length === 0 && <p class="muted">No processor time was sampled{state.from !== null || state.task !== null ? " under these filters" : ""}.</p>}
          <ol class="hottest">
            {hottest.map((index) => {
              const row = table.function[index]!;
              return (
                <li key={row}>
                  <div class="hot-line">
                    <FunctionLink row={row} />
                    <span class="figure"><b>{percent(table.self[index]! / sum)}</b> <span class="muted">{time(table.self[index]!)}</span></span>
                  </div>
                  <div class="hot-bars">
                    <Bar share={table.self[index]! / most} kind={`group-${groupOf(meta, row)}`} />
                    <Tiers tiers={table.tiers} at={index} sum={table.self[index]!} />
                  </div>
                </li>
              );
            })}
          </ol>
        </section>
        <section class="card">
          <h3>Why is this slow?</h3>
          {found.length === 0 && notes.length === 0 && (
            <p class="muted">
              {meta.counts.samples === 0 && meta.counts.counted === 0
                ? "There are no samples to explain."
                : "The machine has no notes about these places. Profile with --explain to record what its optimizer decided."}
            </p>
          )}
          <ul class="why">
            {found.map((text) => <li key={text}>{text}</li>)}
            {notes.map((note, index) => (
              <li key={index}>
                {note.function >= 0 && (
                  <>
                    <FunctionLink row={note.function} line={note.line} />
                    {note.weight > 0 && <span class="muted"> takes {percent(note.weight / sum)}{note.line > 0 ? " on this line" : ""}</span>}
                  </>
                )}
                <p>{visible(note.text)}</p>
              </li>
            ))}
          </ul>
        </section>
      </div>
      <p class="sr-only">{hottest.length > 0 ? `The hottest function is ${functionName(meta, table.function[hottest[0]!]!)}.` : ""}</p>
    </div>
  );
}
