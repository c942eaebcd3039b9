/**
 * Builds dist/.
 *
 * It has bundles of `main`, `cli`, the process of an import, and the threads for graphs, search, the
 * local model and rebuilding the index.
 *
 * Each bundle is one file, `<name>.cjs`, with all JavaScript that it needs, except what is `apart`. A service that opened
 * the files of its packages one by one had 273 open at once. Only `grove serve` loads main, so no other command pays for
 * loading the service.
 *
 * Packages with binaries, and packages that are served as files, stay outside. better-sqlite3 is loaded by name
 * (index/sqlite/better-sqlite3.ts). `main.js` and `cli.js`, which a shell starts, are copies of start-bundle.cjs.
 * build-assets.js builds the files for browsers.
 */
import { readdir, readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { buildAssets } from './build-assets.js'

const external = ['argon2', 'swagger-ui-dist']

/** What few requests need. Each is one file, which the bundles next to it load at its first use. */
const apart = {
  colours: 'server/pages/text/colours.ts',
  formulas: 'server/pages/text/formulas.ts',
  mcp: 'server/mcp/sdk.ts',
  nodemailer: 'nodemailer',
  'openid-client': 'openid-client',
  passwords: '@zxcvbn-ts/language-common/src/passwords.json',
  pg: 'pg',
}

/** V8 reads JSON faster from a file than in a bundle. */
const documents = ['spec/openapi.json', 'spec/documents.json']

const outside = {
  name: 'other files stay outside',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^(\.\.\/)+process\/main\.ts$/ }, () => ({ path: './main.cjs', external: true }))
    onResolve({ filter: /\/spec\/\w+\.json$/ }, ({ path }) => ({ path: `./${basename(path)}`, external: true }))
    onResolve({ filter: /^[^/]+$|\/(colours|formulas|sdk)\.ts$|passwords\.json$/ }, ({ path, kind, importer }) => {
      const name = Object.keys(apart).find((one) => apart[one] === path || path.endsWith(`/${basename(apart[one])}`))
      const isOurs = kind !== 'entry-point' && !importer.includes('/node_modules/')
      return !isOurs || name === undefined ? undefined : { path: `./${name}.cjs`, external: true }
    })
  },
}

/** Modules that are loaded and never used. They parse bodies and uploads, as `server/http` does, or translate. */
const unused = {
  name: 'unused modules are empty',
  setup: ({ onLoad }) =>
    onLoad(
      { filter: /\/node_modules\/(body-parser\/index|multer\/index|zod\/v4\/locales\/index)\.js$/ },
      ({ path }) => ({
        contents: path.includes('/zod/') ? 'export {}' : 'module.exports = {}',
      }),
    ),
}

/**
 * Writes large tables of data as JSON strings.
 *
 * V8 reads object literals more slowly, and they take more memory: 40 MiB in the search thread.
 */
const dataAsJson = {
  name: 'data as JSON',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/eld\/src\/ngrams\/extrasmall\.js$/ }, async ({ path }) => {
      const { ngramsData } = await import(pathToFileURL(path))
      return { contents: `export const ngramsData = ${parsed(ngramsData)}` }
    })
    onLoad({ filter: /\/(passwords|db)\.json$/ }, async ({ path }) => {
      return { contents: `module.exports = ${parsed(JSON.parse(await readFile(path, 'utf8')))}`, loader: 'js' }
    })
  },
}

/**
 * Escapes other letters than those of ASCII, which esbuild leaves in regular expressions. V8 needs a byte for each letter
 * of such a file, and two otherwise.
 */
function inAscii(text) {
  return text.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function parsed(data) {
  return `JSON.parse(${JSON.stringify(JSON.stringify(data))})`
}

/** @returns the path and content of each file, and the paths of all inputs */
export async function buildDist() {
  const assetsBuilt = buildAssets()
  const { metafile, outputFiles } = await build({
    // Named, because without it every page would be built wrongly and without an error.
    tsconfig: 'tsconfig.json',
    entryPoints: [
      { in: 'server/process/main.ts', out: 'main' },
      { in: 'server/process/first.ts', out: 'first' },
      { in: 'server/cli/cli.ts', out: 'cli' },
      { in: 'server/process/import-process.ts', out: 'import' },
      { in: 'server/domain/embeddings/scrub-worker.ts', out: 'domain/embeddings/scrub-worker' },
      { in: 'server/features/graph/graph-worker.ts', out: 'features/graph/graph-worker' },
      { in: 'server/domain/embeddings/embed-worker.ts', out: 'domain/embeddings/embed-worker' },
      { in: 'server/domain/indexing/read-worker.ts', out: 'domain/indexing/read-worker' },
      { in: 'server/domain/search/search-worker.ts', out: 'domain/search/search-worker' },
      ...Object.entries(apart).map(([name, path]) => ({ in: path, out: name })),
    ],
    outdir: 'dist',
    bundle: true,
    external,
    plugins: [outside, unused, dataAsJson],
    platform: 'node',
    target: 'node20',
    // An ES module starts later, and Node's warnings would then appear before the log can handle them.
    format: 'cjs',
    supported: { 'dynamic-import': false },
    outExtension: { '.js': '.cjs' },
    banner: { js: "'use strict'; const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: { 'import.meta.url': 'bundleUrl' },
    // For `node --enable-source-maps`, without the sources.
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    // Names stay, for stack traces, and because a library's steps are found by theirs.
    minifyWhitespace: true,
    lineLimit: 120,
    logLevel: 'error',
    metafile: true,
    write: false,
  })
  const client = await build({
    entryPoints: ['spec/client/client.ts'],
    outdir: 'dist/client',
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    logLevel: 'error',
    metafile: true,
    write: false,
  })
  const bundles = outputFiles.map(({ path, text }) => [path, path.endsWith('.cjs') ? inAscii(text) : text])
  const made = [...bundles, ...client.outputFiles.map(({ path, contents }) => [path, contents])]
  for (const path of documents)
    made.push([resolve('dist', basename(path)), JSON.stringify(JSON.parse(await readFile(path, 'utf8')))])
  const start = await readFile('server/build/start-bundle.cjs')
  made.push([resolve('dist/main.js'), start], [resolve('dist/cli.js'), start])
  // The project's own package.json makes each .js file an ES module.
  made.push([resolve('dist/package.json'), '{ "type": "commonjs" }\n'])
  made.push([resolve('dist/client/package.json'), '{ "type": "module" }\n'])
  const assets = await assetsBuilt
  made.push(...assets.made)
  const inputs = [
    ...documents,
    ...Object.keys(metafile.inputs),
    ...Object.keys(client.metafile.inputs),
    ...assets.inputs,
  ]
  made.push([resolve('dist/LICENSES.txt'), await licencesOf(packagesIn(inputs))])
  return { made, inputs }
}

/** Returns the folders of the packages that are in the bundles. */
function packagesIn(files) {
  const folders = files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort()
}

/** Returns the names, versions and licences of packages, which the licences require of copies. */
async function licencesOf(folders) {
  const texts = await Promise.all(
    folders.map(async (folder) => {
      const { name, version, license, licenses, author } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'))
      const terms = license ?? licenses?.map(({ type }) => type).join(', ') ?? 'in its readme'
      const by = typeof author === 'string' ? author : (author?.name ?? '')
      const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
      const said = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')))
      return [`${name} ${version} (${terms})`, ...(said.length > 0 ? said : [by, await readmeOf(folder)])].join('\n\n')
    }),
  )
  return `Packages in the files of this folder, and their licences.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}\n`
}

/** Returns the licence section of a package's readme. */
async function readmeOf(folder) {
  const name = (await readdir(folder)).find((file) => /^readme/i.test(file))
  const text = name === undefined ? '' : await readFile(`${folder}/${name}`, 'utf8')
  return /^#+ *licen[cs]e[\s\S]*/im.exec(text)?.[0] ?? ''
}
