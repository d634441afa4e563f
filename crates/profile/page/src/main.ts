// One script with two roles: in the page it draws, in a worker made of its own text it computes.

import { startPage } from "./ui/app";
import { runWorker } from "./worker";

if (typeof document === "undefined") runWorker();
else startPage(document.currentScript!.textContent!);
