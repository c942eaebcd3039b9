/**
 * Builds the files that browsers load for the pages, into dist/assets/.
 *
 * These are the style sheet, fonts, pictures and scripts. Each has the hash of its content in its name, and text is also
 * compressed. assets.json maps each file to its current name.
 */
import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'

const folder = resolve('dist/assets')

/** The files that pages name, in the order of esbuild's builds. */
const entries = [
  'server/pages/styles/style.css',
  'server/pages/leaf.svg',
  'server/pages/welcome-light.webp',
  'server/pages/welcome-dark.webp',
  'server/pages/client/theme.ts',
  'server/pages/client/page.ts',
  'server/pages/client/times.ts',
  'server/pages/client/menu.ts',
  'server/pages/client/quick.ts',
  'server/pages/client/tree.ts',
  'server/pages/client/import.ts',
  'server/pages/client/set.ts',
  'server/pages/client/contents.ts',
  'server/pages/client/map.ts',
  'server/pages/client/diagrams.ts',
  'server/pages/client/diagram-frame.ts',
]
const [
  style,
  icon,
  light,
  dark,
  theme,
  page,
  times,
  menu,
  quick,
  tree,
  importing,
  set,
  contents,
  map,
  diagrams,
  frame,
] = entries

/** Packages that are replaced, because browsers have what they provide. */
const inBrowsers = { entities: './server/pages/client/entities.ts' }

const common = {
  outdir: 'dist/assets',
  bundle: true,
  minify: true,
  target: ['chrome109', 'firefox115', 'safari16.4'],
  tsconfig: 'server/pages/client/tsconfig.json',
  alias: inBrowsers,
  loader: { '.woff2': 'file', '.svg': 'copy', '.webp': 'copy' },
  entryNames: '[name].[hash]',
  chunkNames: '[name].[hash]',
  assetNames: '[name].[hash]',
  legalComments: 'none',
  logLevel: 'error',
  metafile: true,
  write: false,
}

/** Makes an ES module of the core of highlight.js. A CommonJS module would add its helpers to every script. */
const highlightAsModule = {
  name: 'highlight-as-module',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]highlight\.js[/\\]lib[/\\]core\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replace('module.exports = highlight;', 'export default highlight;')
      if (contents === source) throw new Error(`${path} exports in another way`)
      return { contents }
    })
  },
}

/** @returns the files with their contents, the paths of all inputs, and the sizes of scripts */
export async function buildAssets() {
  const builds = await Promise.all([
    build({ ...common, entryPoints: [style, icon, light, dark] }),
    build({ ...common, entryPoints: [theme], format: 'iife' }),
    build({
      ...{
        ...common,
        entryPoints: [page, times, menu, quick, tree, importing, set, contents, map, diagrams],
        format: 'esm',
      },
      ...{ splitting: true, plugins: [highlightAsModule] },
    }),
    build({ ...common, entryPoints: [frame], format: 'esm', splitting: true, chunkNames: 'diagram-part.[hash]' }),
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
    scripts: [
      ...builds.slice(0, -1).flatMap(({ metafile }) => weigh(metafile.outputs, new Map(compressed))),
      ...weighFrame(builds.at(-1).metafile.outputs, new Map(compressed)),
    ],
  }
}

/** Returns the files of each entry script, with their bytes after gzip. Static imports are included. */
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
      files: withImports(path).map((one) => ({ path: one, bytes: bytes(one) })),
    }))
}

/** Returns the sizes of the frame of diagrams: its first script, and all scripts. A kind of diagram needs some of them. */
function weighFrame(outputs, compressed) {
  const first = weigh(outputs, compressed).find(({ name }) => name === 'diagram-frame')
  const all = Object.keys(outputs).reduce((sum, path) => sum + compressed.get(`${resolve(path)}.gz`).length, 0)
  return [first, { name: 'all diagram scripts', files: [{ path: 'all', bytes: all }] }]
}

function compress({ path, contents }) {
  // Mermaid would take 8 s of the best compression, for 8 % fewer bytes.
  const quality = /diagram-(part|frame)\./.test(path) ? 9 : 11
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length }
  return [
    promisify(brotliCompress)(contents, { params }).then((bytes) => [`${path}.br`, bytes]),
    promisify(gzip)(contents, { level: 9 }).then((bytes) => [`${path}.gz`, bytes]),
  ]
}

/** Returns the name that pages use for a file, and the file. Undefined unless pages name it. */
function nameOf([output, { entryPoint, inputs }]) {
  const file = output.split('/').at(-1)
  const isFont = file.endsWith('.woff2')
  if (!isFont && !entries.includes(entryPoint)) return undefined
  const source = (isFont ? Object.keys(inputs)[0] : entryPoint).split('/').at(-1)
  return [source.replace(/\.tsx?$/, '.js'), file]
}
