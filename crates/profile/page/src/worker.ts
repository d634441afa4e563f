// The two ends of the conversation between the page and its worker. The worker is made of the same
// script as the page, from a blob, so that the page stays one file. Where a browser refuses that, the
// engine runs in the page itself: slower, but complete.

import { ProfileError } from "./data/profile";
import type { Filter } from "./data/filter";
import { Engine, buffersOf, type Meta, type Queries, type QueryKind, type Source } from "./engine";

interface Request {
  id: number;
  do: "load" | "grow" | "ask";
  source?: Source;
  which?: "main" | "base";
  address?: string;
  kind?: QueryKind;
  filter?: Filter;
  query?: unknown;
}

interface Reply {
  id: number;
  progress?: number;
  result?: unknown;
  error?: string;
  /** The profile itself is wrong, not the way to it. */
  profileError?: boolean;
  /** How long the engine took, in milliseconds. */
  took?: number;
}

type Send = (reply: Reply, transfer: ArrayBuffer[]) => void;

function serve(send: Send): (request: Request) => Promise<void> {
  const engine = new Engine();
  return async (request) => {
    const begin = performance.now();
    try {
      let result: unknown;
      if (request.do === "load") {
        let reported = 0;
        engine.forgetJoin();
        result = await engine.load(request.source!, request.which!, (bytes) => {
          if (performance.now() - reported < 100) return;
          reported = performance.now();
          send({ id: request.id, progress: bytes }, []);
        });
      } else if (request.do === "grow") {
        result = await engine.grow(request.address!);
      } else {
        result = engine.ask(request.kind!, request.filter!, request.query as never);
      }
      send({ id: request.id, result, took: performance.now() - begin }, [...buffersOf(result)]);
    } catch (error) {
      send({
        id: request.id,
        error: error instanceof Error ? error.message : String(error),
        profileError: error instanceof ProfileError,
      }, []);
    }
  };
}

/** Runs in the worker. */
export function runWorker(): void {
  const scope = globalThis as unknown as {
    postMessage(message: unknown, transfer: ArrayBuffer[]): void;
    onmessage: (event: MessageEvent<Request>) => void;
  };
  const handle = serve((reply, transfer) => scope.postMessage(reply, transfer));
  scope.onmessage = (event) => void handle(event.data);
}

/** Runs in the page. */
export class Client {
  private pending = new Map<number, {
    resolve: (value: never) => void; reject: (error: Error) => void; progress?: (bytes: number) => void;
  }>();
  private nextId = 1;
  private post: (request: Request) => void;
  /** Times of the answers so far by kind, for measurements. */
  readonly times: { kind: string; milliseconds: number }[] = [];
  private kinds = new Map<number, string>();
  /** Requests that a worker has not begun with; null once it has answered anything. */
  private unanswered: Request[] | null = [];

  constructor(script: string) {
    this.post = this.start(script);
  }

  private start(script: string): (request: Request) => void {
    try {
      const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      const worker = new Worker(address);
      worker.onmessage = (event: MessageEvent<Reply>) => this.receive(event.data);
      worker.onerror = () => {
        if (this.unanswered !== null) {
          // Some browsers refuse a worker from a blob only after they made it.
          const requests = this.unanswered;
          this.post = this.inPage();
          requests.forEach(this.post);
          return;
        }
        for (const waiting of this.pending.values()) waiting.reject(new Error("The worker of this page failed."));
        this.pending.clear();
      };
      return (request) => {
        this.unanswered?.push(request);
        worker.postMessage(request);
      };
    } catch {
      return this.inPage();
    }
  }

  private inPage(): (request: Request) => void {
    this.unanswered = null;
    const handle = serve((reply) => this.receive(reply));
    return (request) => void setTimeout(() => handle(request));
  }

  private receive(reply: Reply): void {
    this.unanswered = null;
    const waiting = this.pending.get(reply.id);
    if (waiting === undefined) return;
    if (reply.progress !== undefined) {
      waiting.progress?.(reply.progress);
      return;
    }
    this.pending.delete(reply.id);
    if (reply.took !== undefined) this.times.push({ kind: this.kinds.get(reply.id)!, milliseconds: reply.took });
    if (this.times.length > 200) this.times.shift();
    this.kinds.delete(reply.id);
    if (reply.error !== undefined) {
      waiting.reject(reply.profileError ? new ProfileError(reply.error) : new Error(reply.error));
    } else {
      waiting.resolve(reply.result as never);
    }
  }

  private request<T>(request: Omit<Request, "id">, progress?: (bytes: number) => void): Promise<T> {
    const id = this.nextId++;
    this.kinds.set(id, request.kind ?? request.do);
    return new Promise<T>((resolve, reject) => {
      this.pending.set(id, { resolve: resolve as (value: never) => void, reject, progress });
      this.post({ id, ...request });
    });
  }

  load(source: Source, which: "main" | "base", progress?: (bytes: number) => void): Promise<Meta> {
    return this.request({ do: "load", source: { ...source }, which }, progress);
  }

  grow(address: string): Promise<Meta | null> {
    return this.request({ do: "grow", address });
  }

  ask<K extends QueryKind>(
    kind: K, filter: Filter, query: Queries[K]["arguments"],
  ): Promise<Queries[K]["result"]> {
    return this.request({ do: "ask", kind, filter, query });
  }
}
