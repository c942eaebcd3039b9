/**
 * Runs the bundle next to it that has the same name, `<name>.cjs`. The first of several processes runs `first.cjs`.
 *
 * build-dist.js copies this file into dist/, under the names of the bundles that a shell starts. Node 22 and newer have
 * a compile cache: a run stores V8's compiled code in `compile-cache/` when it ends, and later runs read it. Node 20
 * compiles at each start.
 */
const { lstatSync, mkdirSync, statSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { basename, join } = require('node:path')

const name = basename(__filename, '.js')
// The first of several processes only starts workers.
const isFirst = name === 'main' && Number(process.env.WORKERS) > 1 && process.env.GROVE_WORKER === undefined
const bundle = join(__dirname, `${isFirst ? 'first' : name}.cjs`)

// An empty bundle would do nothing and report success.
if (statSync(bundle).size === 0) throw new Error(`${bundle} is empty; reinstall or rebuild Grove`)
if (enableCompileCache !== undefined) {
  const folder = ownCompileCache()
  if (folder !== undefined) enableCompileCache(folder)
}
module.exports = require(bundle)
// `main` only exports the service, because commands also start it.
if (name === 'main') module.exports.serve()

/**
 * Returns the folder of the cache; undefined unless only this user can write to it.
 *
 * V8 runs the code in the cache. Node's default is in the folder for temporary files, where any user can create it
 * first.
 */
function ownCompileCache() {
  const folder = join(__dirname, 'compile-cache')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const found = lstatSync(folder)
    const isOwn = found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o022) === 0
    return isOwn ? folder : undefined
  } catch {
    // The installation is read-only, or the name is in use.
    return undefined
  }
}
