// Checks messages of the adapter against the schema of the protocol, debugAdapterProtocol.json of
// the repository microsoft/debug-adapter-protocol.
//
//   CANNY_DAP_LOG=DIR cargo nextest run -p canny-cli -E 'binary(dap)'
//   node schema.mjs debugAdapterProtocol.json DIR

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";

const [schemaPath, directory] = process.argv.slice(2);
const schema = JSON.parse(readFileSync(schemaPath, "utf8"));
const ajv = new Ajv({ allErrors: true, schemaId: "auto", unknownFormats: "ignore", logger: false });
ajv.addMetaSchema(JSON.parse(readFileSync(new URL(import.meta.resolve("ajv/lib/refs/json-schema-draft-04.json")))));
ajv.addSchema({ ...schema, $id: "dap" }, "dap");

const capital = (text) => text[0].toUpperCase() + text.slice(1);

// The definition that a message has to follow; none if the protocol knows no such message.
function definitionOf(message) {
  if (message.type === "request") return `${capital(message.command)}Request`;
  if (message.type === "event") return `${capital(message.event)}Event`;
  if (message.success === false) return "ErrorResponse";
  return `${capital(message.command)}Response`;
}

const counts = new Map();
let failures = 0;
for (const file of readdirSync(directory).filter((name) => name.endsWith(".jsonl"))) {
  for (const line of readFileSync(join(directory, file), "utf8").split("\n").filter(Boolean)) {
    const message = JSON.parse(line);
    const name = definitionOf(message);
    if (schema.definitions[name] === undefined) {
      failures += 1;
      console.log(`no definition ${name}: ${line.slice(0, 300)}`);
      continue;
    }
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const validate = ajv.getSchema(`dap#/definitions/${name}`);
    if (!validate(message)) {
      failures += 1;
      console.log(`${name}: ${ajv.errorsText(validate.errors)}: ${line.slice(0, 300)}`);
    }
  }
}
const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
console.log(`${total} messages of ${counts.size} kinds, ${failures} wrong`);
process.exit(failures === 0 && total > 0 ? 0 : 1);
