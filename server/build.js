/**
 * Bundles what runs into dist/: `main.js`, `cli.js` and the thread that draws graphs, each one file with all JavaScript that
 * it needs, but that `grove serve` loads main.js: no other command pays for loading the service. A service that opened the
 * files of its packages one by one had 273 open at once. Packages stay outside that are compiled for the machine, or that are
 * served as files.
 */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const external = ['argon2', 'better-sqlite3', 'swagger-ui-dist']

const mainOutside = {
  name: 'main.js stays outside cli.js',
  setup: ({ onResolve }) => onResolve({ filter: /^\.\/main\.ts$/ }, () => ({ path: './main.js', external: true })),
}

const { metafile, outputFiles } = await build({
  entryPoints: [
    'server/main.ts',
    'server/cli.ts',
    'server/domain/graph/graph-worker.ts',
    'server/domain/search/search-worker.ts',
  ],
  outdir: 'dist',
  outbase: 'server',
  bundle: true,
  external,
  plugins: [mainOutside],
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // Bundled CommonJS asks for node's own modules by `require`.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  // For `node --enable-source-maps`; the sources are not in it.
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'error',
  metafile: true,
  write: false,
})
for (const { path, text, contents } of outputFiles) await replace(path, path.endsWith('.js') ? inAscii(text) : contents)
await replace('dist/LICENSES.txt', await licencesOf(packagesIn(Object.keys(metafile.inputs))))

/**
 * V8 reads a file of ASCII alone a tenth faster, for it holds one byte for each letter. esbuild leaves other letters in
 * comments and regular expressions, where the escape means the same.
 */
function inAscii(text) {
  return text.replace(/[^\x00-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A service that runs may read the file at any moment. */
async function replace(path, contents) {
  await mkdir(dirname(path), { recursive: true })
  const temporary = join(dirname(path), `.tmp-${process.pid}`)
  await writeFile(temporary, contents)
  await rename(temporary, path)
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
