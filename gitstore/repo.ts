/** A bare repository as the rest of the code holds it: a path, and objects built but not yet written. */

export interface Repo {
  /** Absolute path of the bare repository. */
  readonly dir: string
  /** Objects of a draft, by id: readable through this value, on disk only after `save`. */
  readonly pending?: ReadonlyMap<Oid, PendingObject>
}

export interface PendingObject {
  readonly type: 'blob' | 'tree' | 'commit' | 'tag'
  readonly content: Buffer
}

/** 40 lower-case hexadecimal characters. */
export type Oid = string

export function isOid(text: string): text is Oid {
  return /^[0-9a-f]{40}$/.test(text)
}
