/** Checks the sizes of scripts and the font sizes of style sheets: `npm run sizes`. */
import { readdirSync, readFileSync } from 'node:fs'
import { buildAssets } from './build-assets.js'

/**
 * Limits in bytes after gzip, including static imports. Scripts that are loaded later have their own limits. A script
 * in `after` is weighed without what the script before it has loaded.
 */
const limits = kibibytes({
  theme: 1,
  page: 1,
  tree: 3.25,
  'tree-move': 2,
  shortcuts: 2,
  cards: 3,
  invitation: 1,
  bell: 1,
  copy: 1,
  times: 1,
  menu: 1,
  quick: 1.25,
  orgs: 2,
  switcher: 9.25,
  import: 3,
  set: 1,
  review: 5,
  suggest: 4,
  search: 9,
  contents: 1,
  diagrams: 3,
  'diagram-frame': 200,
  'all diagram scripts': 1_050,
  editor: 126,
  'editor-tools': 8,
  'editor-completion': 14,
  'editor-search': 12,
  attachments: 2,
  'editor-panel': 4,
  'stored-draft': 4,
  preview: 54,
  formulas: 62,
  linking: 43,
  colours: 82,
  map: 12,
  'map-titles': 2,
})

/** Scripts that are loaded only after another one. */
const after = {
  'editor-tools': 'editor',
  'editor-completion': 'editor',
  'editor-search': 'editor',
  'editor-panel': 'editor',
  'stored-draft': 'editor',
}

const { scripts } = await buildAssets()
const filesOf = new Map(scripts.map(({ name, files }) => [name, files]))
const found = new Map(scripts.map(({ name, files }) => [name, bytesOf(files, filesOf.get(after[name]) ?? [])]))
// A page loads its own script before the editor.
const sizes = { ...Object.fromEntries(found), editor: (found.get('editor') ?? 0) + (found.get('page') ?? 0) }
for (const [name, limit] of Object.entries(limits)) {
  const size = found.has(name) ? sizes[name] : undefined
  if (size !== undefined && size <= limit) continue
  process.exitCode = 1
  process.stderr.write(
    `${name}: ${size === undefined ? 'there is no such script' : `${size} bytes, more than the limit of ${limit}`}\n`,
  )
}
for (const name of found.keys()) {
  if (Object.hasOwn(limits, name)) continue
  process.exitCode = 1
  process.stderr.write(`${name}: has no limit; set one in server/build/check-sizes.js\n`)
}

/** The scale of `tokens.css`, shares of the text around, and units of drawings. */
const fontSizes = /^(?:var\(--t[1-8]\)|inherit|(?:0\.75|0\.85|1)em|(?:9\.5|11|12)px)$/
const styles = 'server/pages/styles/'
for (const file of readdirSync(styles))
  for (const [rule, size] of readFileSync(styles + file, 'utf8').matchAll(
    /\bfont(?:-size)?:\s*(?:normal |italic |\d+ )*([^;{}\s/]+)[^;{}]*;/g,
  )) {
    if (fontSizes.test(size)) continue
    process.exitCode = 1
    process.stderr.write(`${file}: ${rule} has a size that is not of the scale in tokens.css\n`)
  }

function kibibytes(sizes) {
  return Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, size * 1_024]))
}

function bytesOf(files, loaded) {
  const known = new Set(loaded.map(({ path }) => path))
  return files.reduce((sum, { path, bytes }) => (known.has(path) ? sum : sum + bytes), 0)
}
