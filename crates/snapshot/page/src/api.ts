// Questions to the server and their answers. Answers are kept: a file of snapshots does not change.

import { useEffect, useState } from "preact/hooks";

export interface Snapshot {
  number: number; time: number; reason: string; way: string; stopped: number; taken: number; previews: boolean;
  nodes: number; edges: number; objects: number; bytes: number; heap: number; outside: number; whole: boolean; graph: boolean;
}
export interface Series {
  program: string; arguments: string[]; pid: number; version: string; started: number; note: string | null;
  snapshots: Snapshot[]; default: number; types: { name: string; bytes: number[]; objects: number[] }[];
}
export interface Brief {
  id: number; label: string; type: string; family: string; size: number; retained: number; file?: string; line?: number;
}
export interface TypeRow {
  name: string; objects: number; bytes: number; retained: number; outside: number; family?: string; file?: string; line?: number;
}
export interface Types { rows: TypeRow[]; count: number; objects: number; bytes: number }
export interface Objects { objects: Brief[]; count: number; bytes?: number }
export interface Details extends Brief {
  virtual: boolean; library: boolean; allocated?: { file: string; line: number; procedure: string; label?: string }; text?: string; cut?: boolean; characters?: number; facts: Record<string, number>;
  distance: number; incoming: number; outgoing: number; dominated: number; why: string; dominators: Brief[]; depth: number;
}
export interface Edge { name: string; weak: boolean; object: Brief }
export interface Edges { edges: Edge[]; count: number }
export interface Path { length: number; "left-out": number; sentence: string; steps: (Brief & { edge?: string })[] }
export interface Tile {
  id: number; label: string; bytes: number; retained: number; children: Tile[]; others: number; "others-retained": number;
}
export interface Tiles { tile: Tile; above: Brief[] }
export interface Duplicates { rows: { object: Brief; copies: number; saved: number }[]; count: number; saved: number }
export interface Unused { rows: { object: Brief; used: number; room: number; bytes: number }[]; count: number; bytes: number }
export interface Amount { objects: number; bytes: number }
export interface Change { name: string; title: string; before: Amount; after: Amount; new: Amount; gone: Amount; growth: number; file?: string; line?: number }
export interface Difference {
  rows: Change[]; count: number; before: Amount; after: Amount; followed: boolean; new: Amount; gone: Amount; surviving: Amount;
}
export interface Suspect {
  path: string[]; titles: (string | null)[]; places: ({ file: string; line?: number } | null)[]; bytes: number[]; objects: number[]; grown: number; shrunk: number; growth: number; score: number;
}
export interface Growth { types: Suspect[]; paths: Suspect[]; places: Suspect[] }

/** Lines of a file, or a note why there are none; a note beside lines is a warning. */
export interface Source { file: string; line: number; path?: string; first?: number; lines?: string[]; note: string | null }

export type Fields = Record<string, string | number | undefined>;

const ANSWERS_MAX = 200;
const answers = new Map<string, Promise<unknown>>();

async function fetchAnswer(address: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address);
  } catch {
    throw new Error("The server of this page has ended. Start canny heap again.");
  }
  const answer = await response.json().catch(() => ({ error: `The server answers ${response.status}.` }));
  if (!response.ok) throw new Error(answer.error ?? `The server answers ${response.status}.`);
  return answer;
}

export function ask<T>(name: string, fields: Fields): Promise<T> {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) query.set(key, String(value));
  const address = `api/${name}?${query}`;
  let answer = answers.get(address);
  if (answer === undefined) {
    answer = fetchAnswer(address);
    answer.catch(() => answers.delete(address));
    answers.set(address, answer);
    if (answers.size > ANSWERS_MAX) answers.delete(answers.keys().next().value!);
  }
  return answer as Promise<T>;
}

export interface Answer<T> { data?: T; error?: string; busy: boolean }

/** The answer to a question; while the next one is awaited the one before stays. */
export function useAnswer<T>(name: string, fields: Fields | null): Answer<T> {
  const key = fields === null ? null : `${name} ${JSON.stringify(fields)}`;
  const [answer, setAnswer] = useState<Answer<T> & { key: string | null }>({ busy: true, key: null });
  useEffect(() => {
    if (fields === null) return;
    let isWanted = true;
    setAnswer((before) => ({ ...before, busy: true }));
    ask<T>(name, fields).then(
      (data) => isWanted && setAnswer({ data, busy: false, key }),
      (error: Error) => isWanted && setAnswer({ error: error.message, busy: false, key }));
    return () => { isWanted = false; };
  }, [key]);
  return key === null ? { busy: false } : answer;
}
