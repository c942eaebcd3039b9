/** What of a note stays the same when its file moves: its text, tags and properties, without those that say where it is. */
import { sourceFilesKey } from '../format/file-paths.ts'
import { sourcePathKey } from '../format/statement-format.ts'
import { guestProperty } from './inventory.ts'

const placing: readonly string[] = ['id', sourcePathKey, sourceFilesKey, guestProperty]

/** '' where the note says nothing. */
export function identityText(
  tags: readonly string[],
  properties: Readonly<Record<string, unknown>>,
  body: string,
): string {
  const own = Object.entries(properties).filter(([name]) => !placing.includes(name))
  if (tags.length === 0 && own.length === 0) return body.trim() === '' ? '' : body
  return `${JSON.stringify({ tags, ...Object.fromEntries(own) }, null, 1)}\n${body}`
}
