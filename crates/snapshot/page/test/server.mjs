// A file of two snapshots with known contents, and a server of canny for it.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CANNY = process.env.CANNY ?? "canny";

/** Strings that would do harm if they were taken for markup. */
export const HARMFUL = "<script>document.title='harm'</script><img src=x onerror=\"document.title='harm'\">";

const PROGRAM = (folder, file) => `
(import (scheme base) (scheme write) (canny heap))
(define-record-type entry (make-entry name next) entry? (name entry-name) (next entry-next))
(define-record-type |<b onclick="1">odd</b>| (make-odd) odd?)
(define kept
  (let loop ((index 0) (rest #f))
    (if (= index 500)
        rest
        (loop (+ index 1)
              (make-entry (string-append ${JSON.stringify(HARMFUL)} (number->string (modulo index 10))) rest)))))
(define odd (make-odd))
(define sparse (make-vector 3000 #f))
(define (keeper-of entry) ; \u202e${HARMFUL.replaceAll("\n", " ")}
	(lambda () (entry-name entry)))
(define keepers (map keeper-of (list kept)))
(include ${JSON.stringify(join(folder, "gone.scm"))})
(define goners (list (keep-gone kept)))
(define (bulk-of count)
  (let loop ((index 0) (bulk '()))
    (if (= index count) bulk (loop (+ index 1) (cons (make-bytevector 5000 index) bulk)))))
(define bulk (bulk-of 200))
(heap-snapshot! ${JSON.stringify(file)})
(define later-bulk (bulk-of 255))
(define more (make-vector 900 kept))
(define entries (vector-map (lambda (entry) (make-entry "later" #f)) more))
(heap-snapshot! ${JSON.stringify(file)})
(display (list (vector-length more) (vector-length entries) (vector-length sparse) (odd? odd) (entry? kept) (length bulk) (length later-bulk)
               (map (lambda (one) (one)) (append keepers goners))))
`;

const GONE = `(define (keep-gone entry)
  (lambda () (entry-name entry)))
`;

/** The line of a procedure without a name in known.scm. */
export const KEEPER_LINE = PROGRAM("", "").split("\n").findIndex((line) => line.includes("(lambda () (entry-name")) + 1;

export function haveCanny() {
  return spawnSync(CANNY, ["--version"]).status === 0;
}

/** The line that allocates most. */
export const BULK_LINE = PROGRAM("", "").split("\n").findIndex((line) => line.includes("make-bytevector")) + 1;

/** Serves the file while `use` runs. */
export async function withServer(use, given) {
  const folder = mkdtempSync(join(tmpdir(), "canny-heap-page-"));
  try {
    const file = given ?? join(folder, "known.heap");
    if (given === undefined) {
      const program = join(folder, "known.scm");
      const gone = join(folder, "gone.scm");
      writeFileSync(program, PROGRAM(folder, file));
      writeFileSync(gone, GONE);
      const run = spawnSync(CANNY, ["run", "--heap-places", program], { encoding: "utf8", timeout: 60_000 });
      if (run.status !== 0) throw new Error(run.stderr);
      rmSync(gone);
    }
    const server = spawn(CANNY, ["heap", file, "--serve", "0"], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const address = await new Promise((resolve, reject) => {
        let text = "";
        server.stdout.on("data", (data) => {
          text += data;
          const found = /page: (\S+)\n/.exec(text);
          if (found) resolve(found[1]);
        });
        server.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
      });
      return await use(address);
    } finally {
      server.kill("SIGTERM");
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
