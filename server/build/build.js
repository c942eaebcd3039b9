/**
 * Builds dist/: `npm run build`.
 *
 * Every start and every test runs it. If the hash of the sources has not changed, it does nothing and takes 0.1 s.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'

/** The sources and results of the last build. */
const record = resolve('dist/built.json')
const temporaryPrefix = '.tmp-'

/** Sources that esbuild does not name: the build itself, and the versions of all packages. */
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
await recordCommit()

function isBuilt() {
  try {
    const { sources, digest, files } = JSON.parse(readFileSync(record, 'utf8'))
    // Lengths, because a power cut before the disk had a file may have left it empty.
    return files.every(([path, bytes]) => statSync(path).size === bytes) && digestOf(sources) === digest
  } catch {
    // There is no record, or a file is gone.
    return false
  }
}

async function buildAll() {
  // On a slow machine, this takes up to a minute.
  process.stderr.write('Building the pages and the service (only after an update) …\n')
  const began = Date.now()
  const { buildDist } = await import('./build-dist.js')
  const { made, inputs } = await buildDist()
  const sources = [...new Set([...rules, ...inputs])]
  const files = made.map(([path, contents]) => [relative('', path), Buffer.byteLength(contents)])
  // From here to the end, dist/ may have files of two builds.
  await rm(record, { force: true })
  for (const [path, contents] of made) await replace(path, contents)
  await removeOthers(made.map(([path]) => path))
  const hasChanged = sources.some((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs >= began)
  if (!hasChanged) await replace(record, JSON.stringify({ sources, digest: digestOf(sources), files }))
}

/**
 * Writes the commit next to the bundles. A new commit often leaves the bundles as they are. A build without Git, such as
 * that of the image, takes it from GROVE_COMMIT.
 */
async function recordCommit() {
  const file = resolve('dist/commit')
  const commit = process.env.GROVE_COMMIT || (existsSync('.git') ? describeCommit() : '')
  const known = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (commit !== '' && commit !== known) await replace(file, commit)
}

/** Returns the commit as `git describe` names it, or nothing if Git cannot read it. */
function describeCommit() {
  const args = ['--no-optional-locks', 'describe', '--always', '--dirty', '--abbrev=12', '--exclude=*']
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return ''
  }
}

/** Returns a hash of paths and contents. A missing file counts as undefined. */
function digestOf(sources) {
  const digest = createHash('sha256')
  for (const path of sources) {
    const content = existsSync(path) ? readFileSync(path) : undefined
    digest.update(`${path} ${content?.length}\n`).update(content ?? '')
  }
  return digest.digest('hex')
}

/** Replaces a file by a rename. A running service may read it at any moment. */
async function replace(path, contents) {
  await mkdir(dirname(path), { recursive: true })
  const temporary = join(dirname(path), `${temporaryPrefix}${process.pid}`)
  await writeFile(temporary, contents)
  await rename(temporary, path)
}

/** Removes files of older builds. Keeps the compile cache and the temporary files of other builds. */
async function removeOthers(paths) {
  for (const entry of await readdir('dist', { recursive: true, withFileTypes: true })) {
    const path = resolve(entry.parentPath, entry.name)
    const isKept = path.includes('compile-cache') || entry.name.startsWith(temporaryPrefix) || paths.includes(path)
    if (entry.isFile() && !isKept) await rm(path, { force: true })
  }
}
