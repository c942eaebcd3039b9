/**
 * Builds dist/: `npm run build`. What every start and every test asks for is there mostly: where the sources are, by their
 * content, those of the last build, there is nothing to do, which takes a tenth of a second.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'

/** What the last build has made of what. */
const record = resolve('dist/built.json')
const temporaryPrefix = '.tmp-'

/** Beside what esbuild names: how it is built, and the versions of all packages. */
const rules = [
  'server/build/build.js',
  'server/build/build-dist.js',
  'server/build/build-assets.js',
  'server/build/start-bundle.cjs',
  'server/pages/client/tsconfig.json',
  'tsconfig.json',
  'package.json',
  'package-lock.json',
]

if (!isBuilt()) await buildAll()

function isBuilt() {
  try {
    const { sources, digest, files } = JSON.parse(readFileSync(record, 'utf8'))
    // Without its length a file may be empty, where the power went before the disk had it.
    return files.every(([path, bytes]) => statSync(path).size === bytes) && digestOf(sources) === digest
  } catch {
    // There is no record, or a file is gone.
    return false
  }
}

async function buildAll() {
  const began = Date.now()
  const { buildDist } = await import('./build-dist.js')
  const { made, inputs } = await buildDist()
  const sources = [...new Set([...rules, ...inputs])]
  const files = made.map(([path, contents]) => [relative('', path), Buffer.byteLength(contents)])
  // From here until its end, dist/ may be of two builds.
  await rm(record, { force: true })
  for (const [path, contents] of made) await replace(path, contents)
  await removeOthers(made.map(([path]) => path))
  const hasChanged = sources.some((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs >= began)
  if (!hasChanged) await replace(record, JSON.stringify({ sources, digest: digestOf(sources), files }))
}

/** Of their paths and contents; one that is not there has none. */
function digestOf(sources) {
  const digest = createHash('sha256')
  for (const path of sources) {
    const content = existsSync(path) ? readFileSync(path) : undefined
    digest.update(`${path} ${content?.length}\n`).update(content ?? '')
  }
  return digest.digest('hex')
}

/** A service that runs may read the file at any moment. */
async function replace(path, contents) {
  await mkdir(dirname(path), { recursive: true })
  const temporary = join(dirname(path), `${temporaryPrefix}${process.pid}`)
  await writeFile(temporary, contents)
  await rename(temporary, path)
}

/** What another version of this file has made. Not the compile cache, nor what another build is writing. */
async function removeOthers(paths) {
  for (const entry of await readdir('dist', { recursive: true, withFileTypes: true })) {
    const path = resolve(entry.parentPath, entry.name)
    const isKept = path.includes('compile-cache') || entry.name.startsWith(temporaryPrefix) || paths.includes(path)
    if (entry.isFile() && !isKept) await rm(path, { force: true })
  }
}
