/** Reads the types of an organisation from `org.git`, and commits changes of single types. */

import { createCache } from '../../../gitstore/caching/caches.ts'
import { isGitError } from '../../../gitstore/errors.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { findEntry, readTree, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import * as limits from '../../base/limits.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { typeFile, typesFolder } from '../format/paths.ts'
import { type Author, signature } from '../format/signatures.ts'
import { definitionJson, isTypeName, parseDefinition, type TypeDefinition } from './definition.ts'
import { type NodeType, OrgTypes } from './org-types.ts'

export interface StoredTypes {
  readonly types: OrgTypes
  /** Files that cannot be read as definitions. Their types have no rules until the files are repaired. */
  readonly damaged: readonly PathProblem[]
  /** The number of files, damaged ones included. */
  readonly files: number
}

interface Kept extends StoredTypes {
  readonly head: Oid
  readonly folder: Oid | undefined
  readonly refusesUnknown: boolean
  /** Bytes of the definitions. */
  readonly bytes: number
}

/** The last types of each organisation, by repository. */
const kept = createCache<Kept>('org_types', { sizeCalculation: ({ bytes }) => 1_000 + bytes })

/**
 * Reads the types at a commit of `org.git`. Definitions that have not changed are the same objects as before.
 *
 * @param refusesUnknown true if `org.json` refuses types that nobody defined
 * @throws GitError as readTree
 */
export async function readTypes(repo: Repo, head: Oid, refusesUnknown: boolean): Promise<StoredTypes> {
  const before = kept.get(repo.dir)
  if (before?.head === head && before.refusesUnknown === refusesUnknown) return before
  const root = await readTree(repo, (await readCommit(repo, head)).tree)
  const folder = root.find(({ name, mode }) => name === typesFolder && mode === '040000')?.oid
  const isSame = before?.folder === folder && before?.refusesUnknown === refusesUnknown
  const found = before && isSame ? { ...before, head } : await readFolder(repo, folder, before, refusesUnknown, head)
  kept.set(repo.dir, found)
  return found
}

/** Returns the types that were read last, if they are still in memory. */
export function lastTypes(repo: Repo): OrgTypes | undefined {
  return kept.get(repo.dir)?.types
}

/** Maps the names of types at a commit to the blobs of their definitions. @throws GitError as readTree */
export async function listVersions(repo: Repo, commit: Oid): Promise<Map<string, Oid>> {
  const folder = await findEntry(repo, (await readCommit(repo, commit)).tree, typesFolder)
  const entries = folder?.mode === '040000' ? await readTree(repo, folder.oid) : []
  const files = entries.filter(({ name, mode }) => mode !== '040000' && name.endsWith('.json'))
  return new Map(files.map(({ name, oid }) => [name.slice(0, -'.json'.length), oid]))
}

async function readFolder(
  repo: Repo,
  folder: Oid | undefined,
  before: StoredTypes | undefined,
  refusesUnknown: boolean,
  head: Oid,
): Promise<Kept> {
  const known = new Map((before?.types.types ?? []).map((type) => [`${type.name} ${type.version}`, type]))
  const types: NodeType[] = []
  const damaged: PathProblem[] = []
  const pace = createYielder()
  let bytes = 0
  for (const entry of folder === undefined ? [] : await readTree(repo, folder)) {
    const name = /^(.+)\.json$/.exec(entry.name)?.[1]
    if (name === undefined || entry.mode === '040000') continue
    await pace.yieldToEventLoop()
    const read = known.get(`${name} ${entry.oid}`) ?? (await readType(repo, name, entry, types.length))
    if (typeof read === 'string') damaged.push({ path: typeFile(name), reason: read })
    else {
      types.push(read)
      bytes += definitionJson(read.definition).length
    }
  }
  const files = types.length + damaged.length
  return { head, folder, refusesUnknown, types: new OrgTypes(types, refusesUnknown), damaged, files, bytes }
}

/** Reads a type, or says why it cannot be read. @param earlier the number of types before it */
async function readType(repo: Repo, name: string, { oid }: TreeEntry, earlier: number): Promise<NodeType | string> {
  if (!isTypeName(name)) return 'The name of a type has small letters, digits, `-` and `_`, and begins with a letter'
  if (earlier >= limits.types) return `An organisation has at most ${limits.types} types`
  try {
    const read = parseDefinition((await readBlob(repo, oid, limits.typeBytes)).toString())
    return 'definition' in read ? { name, version: oid, definition: read.definition } : (read.faults[0]?.msg ?? '')
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) return `The definition has more than ${limits.typeBytes} bytes`
    throw error
  }
}

/** The change of one type. A definition of null removes the type. */
export interface TypeChange {
  readonly name: string
  readonly definition: TypeDefinition | null
}

/** Commits a change of one type on the draft, after the commit `before` of `org.git`. */
export async function commitType(
  draft: ObjectDraft,
  before: Oid,
  { name, definition }: TypeChange,
  by: Author,
  at: Date,
  message: string,
): Promise<Oid> {
  const blob = definition && (await draft.blob(definitionJson(definition)))
  const { tree } = await readCommit(draft.repo, before)
  const author = signature(by, at)
  return draft.commit({
    tree: await applyChanges(draft, tree, [{ path: typeFile(name), blob }]),
    parents: [before],
    author,
    committer: author,
    message,
  })
}
