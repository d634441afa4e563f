// Two profiles side by side. Their rows have nothing in common, so functions are joined by name and
// file; weights are compared as shares of the whole, since two runs seldom last equally long.

import { PairMap, bytes, ints } from "./column";
import { NO_STACK, type Profile } from "./profile";
import { layOut, type CallNodes, type Layout } from "./tree";

export interface JoinedFunction {
  name: string;
  file: string | null;
  line: number;
  group: number;
  /** The row in the profile that is looked at, or -1. */
  row: number;
}

export interface DifferenceRow {
  function: number;
  selfBefore: number;
  selfAfter: number;
  totalBefore: number;
  totalAfter: number;
}

export class Join {
  readonly functions: JoinedFunction[] = [];
  private rows = new Map<string, number>();
  readonly ofBase: Int32Array;
  readonly ofNew: Int32Array;

  constructor(base: Profile, current: Profile) {
    this.ofNew = this.add(current, true);
    this.ofBase = this.add(base, false);
  }

  private add(profile: Profile, current: boolean): Int32Array {
    const { functions } = profile;
    const result = new Int32Array(functions.name.length);
    for (let row = 0; row < result.length; row++) {
      const name = profile.functionName(row);
      const file = profile.string(functions.file.data[row]!);
      const group = functions.group.data[row]!;
      const key = JSON.stringify([name, file, group]);
      let found = this.rows.get(key);
      if (found === undefined) {
        found = this.functions.length;
        this.rows.set(key, found);
        this.functions.push({ name, file, line: functions.line.data[row]!, group, row: current ? row : -1 });
      }
      result[row] = found;
    }
    return result;
  }
}

interface Side {
  nodes: CallNodes;
  byStack: Float64Array;
  sum: number;
  joined: Int32Array;
}

/** Which weight gives the boxes their width. */
export type Width = "mean" | "before" | "after";

/** One tree of both; a box has the shares before and after. */
export function differenceTree(base: Side, current: Side, width: Width): Layout {
  const parents = ints(), functions = ints(), flags = bytes();
  const map = new PairMap(4096);
  const before: number[] = [];
  const after: number[] = [];
  const fold = (side: Side, into: number[]) => {
    const { nodes } = side;
    const joinedNode = new Int32Array(nodes.parent.length);
    for (let node = 0; node < joinedNode.length; node++) {
      const parent = nodes.parent.data[node]!;
      const name = nodes.function.data[node]!;
      const flag = nodes.flags.data[node]! & 1;
      const fresh = parents.length;
      const found = map.intern(
        (parent < 0 ? -1 : joinedNode[parent]!) * 2 + flag, name < 0 ? name : side.joined[name]!, fresh,
      );
      if (found === fresh) {
        parents.push(parent < 0 ? -1 : joinedNode[parent]!);
        functions.push(name < 0 ? name : side.joined[name]!);
        flags.push(flag);
        before.push(0);
        after.push(0);
      }
      joinedNode[node] = found;
    }
    for (let stack = 0; stack < side.byStack.length; stack++) {
      const weight = side.byStack[stack]!;
      if (weight > 0) into[joinedNode[nodes.ofStack[stack]!]!]! += weight / side.sum;
    }
  };
  fold(base, before);
  fold(current, after);
  const weight = Float64Array.from(before, (share, node) =>
    width === "before" ? share : width === "after" ? after[node]! : (share + after[node]!) / 2);
  // A box carries its own number as a function, so that the shares can be put beside it.
  const own = Int32Array.from(before, (_, node) => node);
  const layout = layOut(parents.view(), own, flags.view(), weight, null);
  const totals = [before, after].map((shares) => {
    const total = Float64Array.from(shares);
    for (let node = total.length - 1; node >= 0; node--) {
      const parent = parents.data[node]!;
      if (parent >= 0) total[parent]! += total[node]!;
    }
    return total;
  });
  layout.before = new Float64Array(layout.count);
  layout.after = new Float64Array(layout.count);
  for (let box = 0; box < layout.count; box++) {
    const node = layout.function[box]!;
    layout.before[box] = totals[0]![node]!;
    layout.after[box] = totals[1]![node]!;
    layout.function[box] = functions.data[node]!;
  }
  return layout;
}

interface Shares {
  function: Int32Array;
  self: Float64Array;
  total: Float64Array;
  sum: number;
}

/** The functions of both, the greatest change of the own share first. */
export function differenceTable(join: Join, base: Shares, current: Shares): DifferenceRow[] {
  const rows = new Map<number, DifferenceRow>();
  const fold = (shares: Shares, joined: Int32Array, after: boolean) => {
    for (let index = 0; index < shares.function.length; index++) {
      const name = shares.function[index]!;
      const key = name < 0 ? NO_STACK : joined[name]!;
      let row = rows.get(key);
      if (row === undefined) {
        row = { function: key, selfBefore: 0, selfAfter: 0, totalBefore: 0, totalAfter: 0 };
        rows.set(key, row);
      }
      row[after ? "selfAfter" : "selfBefore"] += shares.self[index]! / shares.sum;
      row[after ? "totalAfter" : "totalBefore"] += shares.total[index]! / shares.sum;
    }
  };
  fold(base, join.ofBase, false);
  fold(current, join.ofNew, true);
  const change = (row: DifferenceRow) => Math.abs(row.selfAfter - row.selfBefore);
  return [...rows.values()].sort((a, b) => change(b) - change(a));
}
