// What every view needs: the profile's names, and answers of the worker.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Meta, Queries, QueryKind } from "../engine";
import type { Client } from "../worker";
import { filterOf, useAppState, type State } from "../state";
import type { Filter, Measure } from "../data/filter";
import { NO_STACK, CUT } from "../data/profile";
import type { Unit } from "./format";
import { visible } from "./format";

export interface Shared {
  client: Client;
  meta: Meta;
  base: Meta | null;
  openBase: (file: File) => void;
}

export const SharedContext = createContext<Shared>(null as unknown as Shared);
export const useShared = () => useContext(SharedContext);

export interface Answer<K extends QueryKind> {
  data: Queries[K]["result"] | null;
  /** The question that `data` answers; an older one while a new answer is under way. */
  query: Queries[K]["arguments"] | null;
  busy: boolean;
  error: string | null;
}

/**
 * Asks the worker whenever the question, the filter or the profile changes. One question is under way
 * at a time; of those that come meanwhile only the last is asked.
 */
export function useQuery<K extends QueryKind>(
  kind: K, query: Queries[K]["arguments"] | null, overrides: Partial<Filter> = {},
): Answer<K> {
  const { client, meta, base } = useShared();
  const filter = { ...filterOf(useAppState()), ...overrides };
  const [answer, setAnswer] = useState<Answer<K>>({ data: null, query: null, busy: true, error: null });
  const slot = useRef({ running: false, next: null as (() => void) | null, alive: true });
  const key = JSON.stringify([kind, query, filter, meta.version, base?.version]);
  useEffect(() => {
    slot.current.alive = true;
    return () => void (slot.current.alive = false);
  }, []);
  useEffect(() => {
    if (query === null) return;
    const { current } = slot;
    const run = () => {
      current.running = true;
      current.next = null;
      const done = (result: Partial<Answer<K>>) => {
        current.running = false;
        if (!current.alive) return;
        const next = current.next as (() => void) | null;
        setAnswer((old) => ({ ...old, error: null, ...result, busy: next !== null }));
        next?.();
      };
      client.ask(kind, filter, query).then(
        (data) => done({ data, query }),
        (error: Error) => done({ error: error.message }),
      );
    };
    setAnswer((old) => (old.busy ? old : { ...old, busy: true }));
    if (current.running) current.next = run;
    else run();
  }, [key]);
  return answer;
}

export function functionName(meta: Meta, row: number): string {
  if (row === NO_STACK) return "(no stack)";
  if (row === CUT) return "(older frames were cut)";
  if (row < 0) return "(started by the system)";
  return visible(meta.functions.name[row] ?? "(unknown)");
}

export function groupOf(meta: Meta, row: number): number {
  return row < 0 ? 12 : meta.functions.group[row] ?? 12;
}

export function taskName(meta: Meta, row: number): string {
  const name = meta.tasks.name[row];
  const number = meta.tasks.number[row] ?? row;
  if (name) return `${visible(name)} (${number})`;
  return row === 0 ? "main program" : `task ${number}`;
}

export function threadName(meta: Meta, row: number): string {
  const name = meta.threads.name[row];
  return name ? visible(name) : `thread ${meta.threads.id[row] ?? row}`;
}

export const MEASURE_NAMES: Record<State["measure"], string> = {
  cpu: "Processor time", wait: "Waiting", allocated: "Allocated bytes", live: "Live bytes", counts: "Exact counts",
};

export function unitOf(measure: State["measure"]): Unit {
  return measure === "allocated" || measure === "live" ? "size" : "time";
}

/** The measures that this profile has. */
export function measuresOf(meta: Meta): State["measure"][] {
  const { counts } = meta;
  const result: State["measure"][] = [];
  if (counts.samples > 0) result.push("cpu");
  if (counts.waits > 0) result.push("wait");
  if (counts.allocations > 0) result.push("allocated", "live");
  if (counts.counted > 0) result.push("counts");
  return result;
}

/** The chosen measure, or one that the profile has. */
export function measureFor(meta: Meta, wanted: State["measure"]): Measure | "counts" {
  const has = measuresOf(meta);
  return has.includes(wanted) ? wanted : has[0] ?? "cpu";
}

/** For pictures of stacks, which exact counts do not have. */
export function stackMeasure(meta: Meta, wanted: State["measure"]): Measure {
  const found = measureFor(meta, wanted);
  if (found !== "counts") return found;
  return (measuresOf(meta).find((measure) => measure !== "counts") as Measure | undefined) ?? "cpu";
}
