/** One item of a batch, and what becomes of it: shared by the batch operations of REST and the import. */
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { Problem } from '../../base/errors.ts'

/** A node as it is to be on main. */
export interface BatchNode {
  /** A UUID in lower case: of a new node, or of one that exists. No two items share it. */
  readonly id: string
  /** Of a new node: what its ledger says; node.json has its own. */
  readonly title: string
  /** Of the commit, if there is one. */
  readonly message: string
  /** Of a commit to a node that exists, where it is another one. */
  readonly changeMessage?: string
  /**
   * Builds the tree of main on the draft, from the present one (null: a new node, or one without a commit). May be called
   * again when main moves meanwhile. The whole tree from a map of files: `(draft, before) => buildTree(draft, before, files)`.
   *
   * @throws Invalid: what the item itself breaks; its `loc` is the one that callers are shown
   */
  readonly build: (draft: ObjectDraft, before: Oid | null) => Promise<Oid>
}

export interface BatchOptions {
  /** `refuse`: every node is new, and one that exists is 409; `update`: one that exists gets a commit where it differs. */
  readonly existing: 'refuse' | 'update'
  /** The part of the input to which a problem at `path` of the item at position `at` belongs. */
  readonly locate: (at: number, path: string) => readonly (string | number)[]
  /**
   * Called with items that break a rule; they are left out, and the others are written. Without it, one such item refuses the
   * whole batch before anything is written.
   */
  readonly refused?: (at: number, problems: readonly Problem[]) => void
  /** Called, beside `refused`, with an item that has edges to items that were left out: it is built again, without these. */
  readonly without?: (at: number, lost: ReadonlySet<string>) => void
  /** Items done so far, and all. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface BatchOutcome {
  readonly id: string
  /** The commit of main. */
  readonly head: Oid
  readonly status: 'created' | 'updated' | 'unchanged'
}
