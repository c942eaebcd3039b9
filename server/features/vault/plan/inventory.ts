/** The nodes that an organisation already has, so that a plan can match them. */
import { fileOfSource } from '../../../markdown/vault-paths.ts'
import type { Declares } from './connections.ts'

export interface KnownNode {
  readonly id: string
  readonly title: string
  /** The property `source_path`; undefined if no import of this vault created the node. */
  readonly path: string | undefined
  /** True if it lacks the property. Only its id can then show that an import created it. */
  readonly isUnmarked?: boolean
}

export interface KnownContent {
  readonly id: string
  readonly tags: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  /** The content of content.md; '' if it is missing. */
  readonly text: string
}

export interface Inventory {
  /** A UUID. */
  readonly orgId: string
  /** All nodes of the organisation, oldest first. */
  readonly nodes: readonly KnownNode[]
  /** The vault's id, if the organisation belongs to another vault. Only nodes with this id are considered. */
  readonly guest?: string
  /** True if the type of a note with these properties declares a connection. Default: none does. */
  readonly declares?: Declares
  /** Reads the contents of these nodes on main, in any order. */
  contentsOf(ids: readonly string[]): AsyncIterable<KnownContent>
  /** Returns the ids that nodes of other organisations have, also in the trash. */
  takenElsewhere(ids: readonly string[]): Promise<ReadonlySet<string>>
}

/** The property with the vault of a node in another vault's organisation. */
export const guestProperty = 'source_vault'

/** Gives a node the path of its exported note, if nothing else records its location. */
export function asExported(node: KnownNode, note: string | undefined): KnownNode {
  const isFolder = node.path !== undefined && fileOfSource(node.path) === note
  return note !== undefined && (isFolder || (node.path === undefined && node.isUnmarked))
    ? { ...node, path: note }
    : node
}
