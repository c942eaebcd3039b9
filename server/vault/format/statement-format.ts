/** What the front matter of an exported note says of its node under the key `grove`, beside title, tags and properties. */
import { createHash } from 'node:crypto'
import type { ConnectionEntity, ParentEntity } from '../../domain/format/node-format.ts'

export const statementKey = 'grove'

/** The property that says where in a vault an import has found the note. */
export const sourcePathKey = 'source_path'

/** What the node says of where it comes from, if that is not what an import of the note would make it say. */
export interface StatedSource {
  /** Where the note was exported to: the statement holds while it lies there. */
  readonly at: string
  /** The properties `source_path` and `source_files`, of whatever type; undefined where there is none. */
  readonly path: unknown
  readonly files: unknown
}

/** The members of node.json. */
export interface NodeMembers {
  readonly title: string
  readonly tags: readonly string[]
  /** Without `source_path` and `source_files`. */
  readonly properties: Readonly<Record<string, unknown>>
}

/** What a statement says, as its writer and its reader know it. */
export interface StatedNode {
  readonly id: string
  readonly parents: readonly ParentEntity[]
  readonly connections: readonly ConnectionEntity[]
  /** The path in the folder of each file of the repository, by its path there. */
  readonly files: ReadonlyMap<string, string>
  readonly source: StatedSource | undefined
  /** Further members of node.json. */
  readonly others: Readonly<Record<string, unknown>>
}

/**
 * Short for what the text of a note and its head say: while it is the same, an import reads no tags and links out of them.
 *
 * @param text the blob id of the Markdown after the front matter
 */
export function digestOf({ title, tags, properties }: NodeMembers, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([title, tags, properties, text]))
    .digest('hex')
    .slice(0, 16)
}

/** The blob id that git gives to `bytes`. */
export function blobId(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}
