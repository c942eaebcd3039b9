/**
 * What is in dist/. Bundles what runs: `main`, `cli` and the threads that draw graphs and search, each one file with all JavaScript
 * that it needs, but that `grove serve` loads main: no other command pays for loading the service. A service that opened the
 * files of its packages one by one had 273 open at once. Packages stay outside that have binaries, or that are
 * served as files (better-sqlite3 is loaded by name, index/sqlite/better-sqlite3.ts). build-assets.js makes what browsers load.
 * Each bundle is `<name>.cjs`; `main.js` and `cli.js`, which a shell starts, are copies of start-bundle.cjs.
 */
import { readdir, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { buildAssets } from './build-assets.js'

const external = ['argon2', 'swagger-ui-dist']

const mainOutside = {
  name: 'main.cjs stays outside cli.cjs',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\.\/process\/main\.ts$/ }, () => ({ path: './main.cjs', external: true })),
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

function parsed(data) {
  return `JSON.parse(${JSON.stringify(JSON.stringify(data))})`
}

/** @returns the path and the content of each file, and the paths of what they are made of */
export async function buildDist() {
  const assetsBuilt = buildAssets()
  const { metafile, outputFiles } = await build({
    // Named, for where it is missing every page would be built wrongly, without a word.
    tsconfig: 'tsconfig.json',
    entryPoints: [
      { in: 'server/process/main.ts', out: 'main' },
      { in: 'server/cli/cli.ts', out: 'cli' },
      { in: 'server/domain/graph/graph-worker.ts', out: 'domain/graph/graph-worker' },
      { in: 'server/domain/search/search-worker.ts', out: 'domain/search/search-worker' },
    ],
    outdir: 'dist',
    bundle: true,
    external,
    plugins: [mainOutside, dataAsJson],
    platform: 'node',
    target: 'node20',
    // A module of ECMAScript starts later: a warning of Node would come before the log takes it.
    format: 'cjs',
    supported: { 'dynamic-import': false },
    outExtension: { '.js': '.cjs' },
    banner: { js: "'use strict'; const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
    define: { 'import.meta.url': 'bundleUrl' },
    // For `node --enable-source-maps`; the sources are not in it.
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
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
  const made = [...outputFiles, ...client.outputFiles].map(({ path, contents }) => [path, contents])
  const start = await readFile('server/build/start-bundle.cjs')
  made.push([resolve('dist/main.js'), start], [resolve('dist/cli.js'), start])
  // The project's own says that a file named .js is an ECMAScript module.
  made.push([resolve('dist/package.json'), '{ "type": "commonjs" }\n'])
  made.push([resolve('dist/client/package.json'), '{ "type": "module" }\n'])
  const assets = await assetsBuilt
  made.push(...assets.made)
  const inputs = [...Object.keys(metafile.inputs), ...Object.keys(client.metafile.inputs), ...assets.inputs]
  made.push([resolve('dist/LICENSES.txt'), await licencesOf(packagesIn(inputs))])
  return { made, inputs }
}

/** The folders of the packages that are in the bundle. */
function packagesIn(files) {
  const folders = files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort()
}

/** Their names, versions and licences, as these ask of copies. */
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

/** What it says of the licence. */
async function readmeOf(folder) {
  const name = (await readdir(folder)).find((file) => /^readme/i.test(file))
  const text = name === undefined ? '' : await readFile(`${folder}/${name}`, 'utf8')
  return /^#+ *licen[cs]e[\s\S]*/im.exec(text)?.[0] ?? ''
}
