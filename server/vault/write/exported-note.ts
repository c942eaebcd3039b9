/** A node as a Markdown file: front matter that says all of it that its text does not. */

import type { ConnectionEntity } from '../../domain/format/node-format.ts'
import { digestOf, type NodeMembers, type StatedNode, statementKey } from '../format/statement-format.ts'
import { frontMatter, isSayable } from './front-matter-text.ts'

export interface ExportedNote extends NodeMembers, StatedNode {
  /** The blob id of the text, '' for none. */
  readonly text: string
}

/** The front matter, after which the text stands as it is. */
export function headOf(note: ExportedNote): Promise<string> {
  const { title, tags, properties, others, parents, connections, files, source } = note
  const own = Object.entries(properties)
  const sayable = own.filter(([key, value]) => !taken.has(key) && isSayable(key, value))
  const unsayable = own.filter(([key, value]) => taken.has(key) || !isSayable(key, value))
  const statement = {
    ...(parents.length > 0 ? { parents: parents.map(({ id, label }) => (label === '' ? id : { id, label })) } : {}),
    ...(connections.length > 0 ? { connections: connections.map(withoutEmptyLabel) } : {}),
    ...(files.size > 0 ? { files: Object.fromEntries(files) } : {}),
    ...(source && isSayable('source', source) ? { source } : {}),
    // As JSON in a text, which holds what YAML cannot.
    ...(unsayable.length > 0 ? { properties: JSON.stringify(Object.fromEntries(unsayable)) } : {}),
    ...(Object.keys(others).length > 0 ? { node: JSON.stringify(others) } : {}),
    // In the order in which an import reads them.
    digest: digestOf({ title, tags, properties: Object.fromEntries([...sayable, ...unsayable]) }, note.text),
  }
  return frontMatter(
    new Map<string, unknown>([
      ['title', title],
      ...(tags.length > 0 ? ([['tags', tags]] as const) : []),
      ...sayable,
      ['id', note.id],
    ]),
    { key: statementKey, members: statement },
  )
}

const taken: ReadonlySet<string> = new Set(['title', 'tags', 'id', statementKey])

function withoutEmptyLabel({ label, ...connection }: ConnectionEntity) {
  return label === '' ? connection : { ...connection, label }
}
