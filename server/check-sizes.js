/** Compares the scripts of pages with what they may weigh: `npm run sizes`. */
import { buildAssets } from './build-assets.js'

/** Bytes after gzip, with all that a script imports at once; what it loads later counts by itself. */
const limits = { theme: 1_000, page: 1_000, search: 9_000, 'key-lists': 2_000, editor: 125_000, preview: 43_000 }

const { scripts } = await buildAssets()
const found = new Map(scripts.map(({ name, bytes }) => [name, bytes]))
// The page's script has loaded before the editor.
const sizes = { ...Object.fromEntries(found), editor: (found.get('editor') ?? 0) + (found.get('page') ?? 0) }
for (const [name, limit] of Object.entries(limits)) {
  const size = found.has(name) ? sizes[name] : undefined
  if (size !== undefined && size <= limit) continue
  process.exitCode = 1
  process.stderr.write(
    `${name}: ${size === undefined ? 'there is no such script' : `${size} bytes, allowed are ${limit}`}\n`,
  )
}
for (const name of found.keys()) {
  if (Object.hasOwn(limits, name)) continue
  process.exitCode = 1
  process.stderr.write(`${name}: no limit is set in server/check-sizes.js\n`)
}
