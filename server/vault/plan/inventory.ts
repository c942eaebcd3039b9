/** What an organisation has of a vault: all that a plan needs to find its nodes again. */
import { fileOfSource } from '../../markdown/vault-paths.ts'

export interface KnownNode {
  readonly id: string
  readonly title: string
  /** The property `source_path`; undefined where no import of this vault made the node. */
  readonly path: string | undefined
  /** It has no such property; only its id can show that an import made it. */
  readonly isUnmarked?: boolean
}

export interface KnownContent {
  readonly id: string
  readonly tags: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  /** Of content.md; '' where there is none. */
  readonly text: string
}

export interface Inventory {
  /** A UUID. */
  readonly orgId: string
  /** All nodes of the organisation, the oldest first. */
  readonly nodes: readonly KnownNode[]
  /** The vault's id where the organisation is another vault's: its nodes carry it, and no others are looked at. */
  readonly guest?: string
  /** The contents of these nodes on main, in any order. */
  contentsOf(ids: readonly string[]): AsyncIterable<KnownContent>
  /** Those of these ids that nodes of other organisations have, in the trash too. */
  takenElsewhere(ids: readonly string[]): Promise<ReadonlySet<string>>
}

/** The property that names the vault of a node in an organisation of another one. */
export const guestProperty = 'source_vault'

/** The node with the path of its note in the folder that it was exported to, if nothing else says where that lies. */
export function asExported(node: KnownNode, note: string | undefined): KnownNode {
  const isFolder = node.path !== undefined && fileOfSource(node.path) === note
  return note !== undefined && (isFolder || (node.path === undefined && node.isUnmarked))
    ? { ...node, path: note }
    : node
}
