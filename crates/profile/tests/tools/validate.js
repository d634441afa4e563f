// Validates the file that is the last argument by the JSON schema in the one before it, with the
// package `ajv` of the directory that is the first argument.
'use strict';

const fs = require('fs');
const path = require('path');

const [directory, schema, file] = process.argv.slice(2);
const Ajv = require(path.join(directory, 'node_modules', 'ajv'));
const ajv = new Ajv({ strict: false });
const validate = ajv.compile(JSON.parse(fs.readFileSync(schema, 'utf8')));
if (!validate(JSON.parse(fs.readFileSync(file, 'utf8')))) {
  console.error(JSON.stringify(validate.errors, null, 1));
  process.exit(1);
}
console.log('valid');
