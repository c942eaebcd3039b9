/** Writes a new name in wiki links of a text. Nothing else in the text changes. */

import * as limits from '../base/limits.ts'
import type { Link } from './markdown-facts.ts'
import { folded } from './note-names.ts'
import type { Point } from './points.ts'
import { isLinkable, wikilinkAt } from './wikilinks.ts'

export interface Renaming {
  readonly from: string
  readonly to: string
}

/** True if a wiki link can name a node with this title, and nothing else. */
export function canName(title: string): boolean {
  return (
    isLinkable(title) &&
    title !== '' &&
    title.length <= limits.title &&
    title === title.trim() &&
    !unreadable.test(title)
  )
}

/** A slash would begin a path, and `^` a footnote. Endings of files and backslashes would be dropped. */
const unreadable = /[/\r\n]|^\^|^\.|\.(md|mdx|markdown)$|\\|:\/\//i

/** Writes the new name in the wiki links at these places. Links with another name stay. */
export function renameLinks(text: string, places: readonly Point[], { from, to }: Renaming): string {
  const starts = lineStarts(text)
  const offsets = places.map(({ line, column }) => (starts[line - 1] ?? text.length) + column - 1)
  let [renamed, done] = ['', 0]
  for (const offset of [...new Set(offsets)].sort((a, b) => a - b)) {
    const link = wikilinkAt(text, offset)
    if (link === undefined || offset < done) continue
    const name = nameIn(link.inner)
    if (folded(name.trim()) !== folded(from)) continue
    const start = offset + link.mark.length + 2 + (name.length - name.trimStart().length)
    renamed += text.slice(done, start) + to
    done = start + name.trim().length
  }
  return renamed + text.slice(done)
}

/** Returns the part before `#` and `|`. In a table the | is written \|. */
function nameIn(inner: string): string {
  const [name = ''] = inner.split(/#|\\?\|/, 1)
  return name.replace(/\\$/, '')
}

/** Returns the offset of each line. Lines end with LF, CRLF or CR. */
function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\r\n?|\n/g)].map(({ 0: end, index }) => index + end.length)]
}

/** True if the links of two texts differ only in the name. */
export function differOnlyInName(before: readonly Link[], after: readonly Link[], { from, to }: Renaming): boolean {
  if (before.length !== after.length) return false
  return before.every((link, at) => {
    const other = after[at]
    if (!other || other.form !== link.form || other.type !== link.type || other.label !== link.label) return false
    if (other.target === link.target) return true
    return link.form === 'wikilink' && folded(link.target) === folded(from) && other.target === to
  })
}
