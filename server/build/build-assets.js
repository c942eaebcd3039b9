/**
 * What browsers load of the pages, into dist/assets/: style sheet, fonts and scripts, each with the hash of its content in its
 * name, text also compressed; and assets.json, which has the name of each as it is made now.
 */
import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'

const folder = resolve('dist/assets')

/** What pages name, in the order of esbuild's builds. */
const entries = [
  'server/pages/styles/style.css',
  'server/pages/leaf.svg',
  'server/pages/client/theme.ts',
  'server/pages/client/page.ts',
]
const [style, icon, theme, page] = entries

/** Packages of which a browser has what they are for, and one that alone is CommonJS, for which every script would load more. */
const inBrowsers = {
  events: resolve('server/pages/client/emitter.ts'),
  entities: './server/pages/client/entities.ts',
  'graphology-utils/is-graph': './server/pages/client/is-graph.ts',
}

const common = {
  outdir: 'dist/assets',
  bundle: true,
  minify: true,
  target: ['chrome109', 'firefox115', 'safari16.4'],
  tsconfig: 'server/pages/client/tsconfig.json',
  alias: inBrowsers,
  loader: { '.woff2': 'file', '.svg': 'copy' },
  entryNames: '[name].[hash]',
  chunkNames: '[name].[hash]',
  assetNames: '[name].[hash]',
  legalComments: 'none',
  logLevel: 'error',
  metafile: true,
  write: false,
}

/** Leaves out the names of colours that sigma knows: those of the map are numbers. */
const withoutColourNames = {
  name: 'without-colour-names',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]sigma[/\\]dist[/\\]colors-\w+\.esm\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replace(/var HTML_COLORS = \{[^{}]*\}/, 'var HTML_COLORS = {}')
      if (contents === source) throw new Error(`${path} has no table of colours`)
      return { contents }
    })
  },
}

/** @returns the path and the content of each file, what esbuild says of its inputs, and what scripts weigh */
export async function buildAssets() {
  const builds = await Promise.all([
    build({ ...common, entryPoints: [style, icon] }),
    build({ ...common, entryPoints: [theme], format: 'iife' }),
    build({ ...common, entryPoints: [page], format: 'esm', splitting: true, plugins: [withoutColourNames] }),
  ])
  const outputs = builds.flatMap(({ outputFiles }) => outputFiles)
  const files = outputs.map(({ path, contents }) => [path, contents])
  const compressed = await Promise.all(outputs.filter(({ path }) => /\.(css|js)$/.test(path)).flatMap(compress))
  const names = builds.flatMap(({ metafile }) => Object.entries(metafile.outputs).map(nameOf))
  const listed = Object.fromEntries(names.filter((pair) => pair !== undefined).sort())
  const table = [resolve(folder, 'assets.json'), `${JSON.stringify(listed, null, 2)}\n`]
  return {
    made: [...files, ...compressed, table],
    inputs: builds.flatMap(({ metafile }) => Object.keys(metafile.inputs)),
    scripts: builds.flatMap(({ metafile }) => weigh(metafile.outputs, new Map(compressed))),
  }
}

/** Of each script of its own, the bytes after gzip, with what it imports at once. */
function weigh(outputs, compressed) {
  const withImports = (path) => {
    const all = new Set([path])
    for (const one of all)
      for (const { path: other, kind } of outputs[one].imports) if (kind === 'import-statement') all.add(other)
    return [...all]
  }
  const bytes = (path) => compressed.get(`${resolve(path)}.gz`).length
  return Object.entries(outputs)
    .filter(([path, { entryPoint }]) => path.endsWith('.js') && entryPoint)
    .map(([path, { entryPoint }]) => ({
      name: basename(entryPoint).replace(/\.tsx?$/, ''),
      bytes: withImports(path).reduce((sum, one) => sum + bytes(one), 0),
    }))
}

function compress({ path, contents }) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length }
  return [
    promisify(brotliCompress)(contents, { params }).then((bytes) => [`${path}.br`, bytes]),
    promisify(gzip)(contents, { level: 9 }).then((bytes) => [`${path}.gz`, bytes]),
  ]
}

/** What a page calls it, and its file: fonts, the style sheet and scripts that pages name; not what scripts load themselves. */
function nameOf([output, { entryPoint, inputs }]) {
  const file = output.split('/').at(-1)
  const isFont = file.endsWith('.woff2')
  if (!isFont && !entries.includes(entryPoint)) return undefined
  const source = (isFont ? Object.keys(inputs)[0] : entryPoint).split('/').at(-1)
  return [source.replace(/\.tsx?$/, '.js'), file]
}
