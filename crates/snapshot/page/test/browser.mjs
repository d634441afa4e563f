// The browser of the tests, with the Playwright of this folder.

import { chromium } from "playwright-core";
import { browserOf, browserPath } from "../../../report/page/browser.mjs";

export { browserPath };
export const withBrowser = browserOf(chromium);
