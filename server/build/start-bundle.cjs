/**
 * Runs the bundle of its own name beside it, `<name>.cjs`. build-dist.js copies this file into dist/, under the names of the
 * bundles that a shell starts. Where Node has a compile cache, as from 22 on, a run leaves what V8 compiled in
 * `compile-cache/` when it ends, and later runs read it. Node 20 compiles at each start.
 */
const { lstatSync, mkdirSync, statSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { join } = require('node:path')

const bundle = __filename.replace(/\.js$/, '.cjs')

// An empty bundle would do nothing and report success.
if (statSync(bundle).size === 0) throw new Error(`${bundle} is empty; install or build Grove again`)
if (enableCompileCache !== undefined) {
  const folder = ownCompileCache()
  if (folder !== undefined) enableCompileCache(folder)
}
module.exports = require(bundle)

/**
 * The folder of the cache; undefined unless it is this user's and no other user may write there. V8 runs what the cache holds.
 * Node's default lies in the folder for temporary files, where any user can make it first.
 */
function ownCompileCache() {
  const folder = join(__dirname, 'compile-cache')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const found = lstatSync(folder)
    const isOwn = found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o022) === 0
    return isOwn ? folder : undefined
  } catch {
    // The installation cannot be written, or something else has the name.
    return undefined
  }
}
