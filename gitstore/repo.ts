/** A bare repository: its path, and the unwritten objects of a batch. */

export interface Repo {
  /** Absolute path of the bare repository. */
  readonly dir: string
  /** Objects of a batch, by id. They are readable through this value, and on disk after `save`. */
  readonly pending?: ReadonlyMap<Oid, PendingObject>
}

/** Variables of Git's environment: a folder of objects next to the repository's own. */
export type ObjectPlaces = Readonly<
  Partial<Record<'GIT_OBJECT_DIRECTORY' | 'GIT_ALTERNATE_OBJECT_DIRECTORIES', string>>
>

export interface PendingObject {
  readonly type: 'blob' | 'tree' | 'commit' | 'tag'
  readonly content: Buffer
}

/** 40 lower-case hexadecimal characters. */
export type Oid = string

/** An id that no object has. Git writes it for a commit that does not exist. */
export const noOid: Oid = '0'.repeat(40)

export function isOid(text: string): text is Oid {
  return /^[0-9a-f]{40}$/.test(text)
}
