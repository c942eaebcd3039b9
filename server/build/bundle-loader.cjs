/**
 * Runs the bundle of its own name beside it, `<name>.cjs`, with V8's code cache: what V8 compiled of the bundle in an earlier
 * run is read from a file, which takes a third off the CPU time of a start. server/build/build.js copies this file into dist/, under
 * the name of each bundle. The first run makes the cache; where its folder cannot be written, every run compiles.
 */
const {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs')
const { basename, dirname, join } = require('node:path')
const { cachedDataVersionTag } = require('node:v8')
const { Script } = require('node:vm')
const { isMainThread, threadId } = require('node:worker_threads')
const { crc32 } = require('node:zlib')

/** Milliseconds after which a service or a thread has started. A command makes its cache when it ends. */
const startMs = isMainThread ? 2_000 : 300
/** Checksums of the bundle and of the cached data: V8 compares only the length of the one, and trusts the other. */
const headerBytes = 8

const bundle = __filename.replace(/\.js$/, '.cjs')

// Node reads the source map of a module, but not of a script.
if (process.sourceMapsEnabled) require(bundle)
else run()

function run() {
  const bytes = readWrapped()
  const checksum = crc32(bytes)
  const file = cacheFile()
  const cachedData = readCache(file, checksum)
  // The bundle is ASCII.
  const script = new Script(bytes.latin1Slice(), {
    filename: bundle,
    // So that stack traces count the bundle's lines.
    lineOffset: -1,
    cachedData,
  })
  // Another run may make the cache while this one starts.
  const isMissing = () => script.cachedDataRejected === true || readCache(file, checksum) === undefined
  if (cachedData === undefined || script.cachedDataRejected === true)
    keepLater(() => isMissing() && writeCache(file, checksum, script.createCachedData()))
  script.runInThisContext()(exports, require, module, bundle, __dirname)
}

/** The bundle as the body of a function. A string that is put together is copied once more when V8 reads it. */
function readWrapped() {
  const [head, tail] = ['(function (exports, require, module, __filename, __dirname) {\n', '\n})']
  const file = openSync(bundle)
  try {
    const { size } = fstatSync(file)
    // It would run as a program that does nothing, and that well.
    if (size === 0) throw new Error(`${bundle} is empty; install or build Grove again`)
    const bytes = Buffer.allocUnsafe(head.length + size + tail.length)
    bytes.write(head)
    const end = head.length + readSync(file, bytes, head.length, size, 0)
    bytes.write(tail, end)
    return bytes.subarray(0, end + tail.length)
  } finally {
    closeSync(file)
  }
}

/** The tag stands for V8's version and flags, and for the features of the processor. */
function cacheFile() {
  const name = `${basename(bundle, '.cjs')}-${process.version}-${process.arch}-${cachedDataVersionTag()}`
  return join(__dirname, 'code-cache', name)
}

/** Undefined: there is none, or it is of another bundle, or damaged. */
function readCache(file, checksum) {
  try {
    const bytes = readFileSync(file)
    const data = bytes.subarray(headerBytes)
    return bytes.readUInt32LE(0) === checksum && bytes.readUInt32LE(4) === crc32(data) ? data : undefined
  } catch {
    return undefined
  }
}

/** Once, after the start: the cache holds the functions that have run by then. */
function keepLater(keep) {
  const keepNow = () => {
    clearTimeout(timer)
    process.off('exit', keepNow)
    keep()
  }
  const timer = setTimeout(keepNow, startMs).unref()
  process.once('exit', keepNow)
}

/** In place by a rename, so that no run reads half of it. A folder that cannot be written, or a full disk, is no fault. */
function writeCache(file, checksum, data) {
  const temporary = `${file}.${process.pid}-${threadId}`
  const header = Buffer.alloc(headerBytes)
  header.writeUInt32LE(checksum, 0)
  header.writeUInt32LE(crc32(data), 4)
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(temporary, Buffer.concat([header, data]))
    renameSync(temporary, file)
  } catch {
    remove(temporary)
  }
}

function remove(file) {
  try {
    rmSync(file, { force: true })
  } catch {
    // As above.
  }
}
