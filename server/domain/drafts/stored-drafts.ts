/**
 * Stored drafts: what users have typed and not saved. Each is a ref of org.git to a commit without a parent, which the
 * next version replaces. They have no events and no rows.
 */
import pLimit from 'p-limit'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { RefName } from '../../../gitstore/refs/ref-transaction.ts'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { Person } from '../actor.ts'
import { digitsOf } from '../format/ownership.ts'
import { textFile } from '../format/paths.ts'
import { asJson, signature, timeOf } from '../format/signatures.ts'
import { draftRefs, orgRepo } from '../layout.ts'
import type { Services } from '../services.ts'

/** The fields of a draft besides its text, in `draft.json`. */
export interface DraftFields {
  /** The page. A new one does not exist yet. */
  readonly node_id: string
  readonly is_new: boolean
  readonly branch: string
  /** The commit that the draft began with. */
  readonly head: Oid | null
  readonly title: string
  readonly message: string
  /** The other fields of the form, URL-encoded. */
  readonly form: string
}

export interface StoredDraft extends DraftFields {
  readonly id: string
  /** The commit. */
  readonly version: Oid
  readonly saved_at: string
  /** The id of the user. */
  readonly writer: string
}

const fieldsFile = 'draft.json'

/** Drafts that are read at once. */
const readAtOnce = 8

export function draftsOf(userId: string): string {
  return `${draftRefs}${digitsOf(userId)}/`
}

export function draftName({ store }: Pick<Services, 'store'>, orgId: string, userId: string, id: string): RefName {
  return { repo: orgRepo(store, orgId), ref: draftsOf(userId) + id }
}

/** Builds the commit of a draft. */
export async function buildDraft(
  batch: ObjectDraft,
  writer: Person,
  at: Date,
  { text, ...fields }: DraftFields & { readonly text: Buffer },
): Promise<Oid> {
  const tree = await batch.tree([
    { name: textFile, mode: '100644', oid: await batch.blob(text) },
    { name: fieldsFile, mode: '100644', oid: await batch.blob(asJson({ ...fields, writer: writer.id })) },
  ])
  const author = signature(writer, at)
  return batch.commit({ tree, parents: [], author, committer: author, message: 'draft\n' })
}

/** Reads a draft without its text. @throws GitError object_damaged */
export async function readDraft(repo: Repo, id: string, version: Oid): Promise<StoredDraft> {
  const { tree, committer } = await readCommit(repo, version)
  const fields = JSON.parse((await readFile(repo, tree, fieldsFile)).toString())
  return { ...fields, id, version, saved_at: timeOf(committer) }
}

/** Reads the text of a draft. @throws GitError object_damaged */
export async function readDraftText(repo: Repo, version: Oid): Promise<string> {
  return (await readFile(repo, (await readCommit(repo, version)).tree, textFile)).toString()
}

async function readFile(repo: Repo, tree: Oid, path: string): Promise<Buffer> {
  const entry = await findEntry(repo, tree, path)
  return entry ? readBlob(repo, entry.oid) : Buffer.alloc(0)
}

/**
 * Lists drafts of an organisation, the last saved first. One that cannot be read is left out and logged.
 *
 * @param prefix that of one user, or of all
 */
export async function listStoredDrafts(
  { store, log }: Pick<Services, 'store' | 'log'>,
  orgId: string,
  prefix: string,
): Promise<StoredDraft[]> {
  const repo = orgRepo(store, orgId)
  if (!repoExists(repo)) return []
  const turn = pLimit(readAtOnce)
  const reading = [...listRefs(repo, prefix)].map(([ref, version]) =>
    turn(() =>
      readDraft(repo, ref.slice(ref.lastIndexOf('/') + 1), version).catch((error: unknown) => {
        // The next version may have replaced it.
        log.warn({ err: error, orgId, ref }, 'a draft cannot be read')
        return []
      }),
    ),
  )
  const drafts = (await Promise.all(reading)).flat()
  return drafts.sort((a, b) => (a.saved_at === b.saved_at ? (a.id < b.id ? -1 : 1) : a.saved_at < b.saved_at ? 1 : -1))
}
