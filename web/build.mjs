// Bundles the page into dist/dashboard.js and dist/dashboard.css; with --tests the unit tests into build/tests.
// $DIST: another directory than dist. The two files are the same, byte for byte, each time the same sources are built with the same lock file.
import { build } from "esbuild";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = process.env.DIST ?? join(here, "dist");
const common = {
  absWorkingDir: here,
  bundle: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  sourcemap: false,
  logLevel: "warning",
};

async function page() {
  await build({
    ...common,
    entryPoints: { dashboard: "src/main.tsx" },
    outdir: dist,
    format: "iife",
    minify: true,
    charset: "ascii",
    legalComments: "none",
    banner: { js: "/* numaestro dashboard; contains Preact, MIT licence, Copyright (c) 2015-present Jason Miller */" },
  });
  // Both are put into one HTML document: what would end or confuse their elements there must not be in them.
  refuse("dashboard.js", ["</script", "<!--"]);
  refuse("dashboard.css", ["</style", "url(", "@import"]);
}

function refuse(name, words) {
  const text = readFileSync(join(dist, name), "utf8");
  for (const word of words) {
    if (text.toLowerCase().includes(word)) {
      throw new Error(`dist/${name} contains ${JSON.stringify(word)}, which must not be in the document`);
    }
  }
  console.log(`dist/${name}: ${Buffer.byteLength(text)} bytes`);
}

async function tests() {
  rmSync(join(here, "build"), { recursive: true, force: true });
  const sources = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: sources.map((name) => join("test", name)),
    outdir: "build/tests",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
  });
}

await (process.argv.includes("--tests") ? tests() : page());
