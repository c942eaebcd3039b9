/** Validates the changes that a client sends for a commit, and applies them. */

import { isGitError } from '../../../gitstore/errors.ts'
import { pathProblem } from '../../../gitstore/names.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { invalid, type Problem, ValidationError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { placesOf } from '../format/json-text.ts'
import { findCollisions } from './content-rules.ts'

export interface Change {
  readonly action: 'put' | 'delete'
  readonly path: string
  readonly content?: string
  readonly encoding?: 'utf-8' | 'base64'
}

/** A change with its bytes; null deletes. */
export interface FileChange {
  readonly path: string
  readonly bytes: Buffer | null
}

/** The part of a request that holds the changes. */
type Loc = readonly (string | number)[]
const inCommit: Loc = ['body', 'changes']

/**
 * Checks and decodes the changes.
 *
 * @throws ValidationError a path that git forbids or that is used twice; content that is missing, invalid or over 10
 *   MiB
 */
export function fileChanges(changes: readonly Change[], within = inCommit): FileChange[] {
  const problems: Problem[] = []
  const seen = new Map<string, number>()
  const files = changes.map((change, at): FileChange => {
    const loc = [...within, at]
    const before = seen.get(change.path)
    const repeated = before === undefined ? undefined : `${placesOf(within, before, at)} have the same path`
    const problem = pathProblem(change.path) ?? repeated
    if (problem) problems.push({ loc: [...loc, 'path'], msg: problem, type: 'value_error', input: change.path })
    seen.set(change.path, before ?? at)
    return {
      path: change.path,
      bytes: change.action === 'delete' ? null : contentOf(change, [...loc, 'content'], problems),
    }
  })
  if (problems.length > 0) throw new ValidationError(problems)
  return files
}

/**
 * Applies the changes to the tree.
 *
 * @throws ValidationError a deleted path does not exist, a file is where a folder is, or names differ only in case
 */
export async function applyFileChanges(
  draft: ObjectDraft,
  tree: Oid | null,
  files: readonly FileChange[],
  within = inCommit,
): Promise<Oid> {
  const changes: { path: string; blob: Oid | null }[] = []
  for (const { path, bytes } of files) changes.push({ path, blob: bytes === null ? null : await draft.blob(bytes) })
  const missing = new Set<string>()
  try {
    const after = await applyChanges(draft, tree, changes, (path) => missing.add(path))
    refuseMissing(files, missing)
    await refuseCollisions(draft, tree, after, files, within)
    return after
  } catch (error) {
    if (!isGitError(error, 'path_conflict')) throw error
    const inTheWay = `${error.facts.path}/`
    const at = files.findIndex((file) => file.bytes !== null && `${file.path}/`.startsWith(inTheWay))
    throw invalid(
      [...within, Math.max(at, 0), 'path'],
      'A file and a folder cannot have the same path',
      files[at]?.path,
    )
  }
}

function refuseMissing(files: readonly FileChange[], missing: ReadonlySet<string>): void {
  const at = files.findIndex(({ path }) => missing.has(path))
  const path = files[at]?.path
  if (path !== undefined) throw invalid(['body', 'changes', at, 'path'], `There is no file at ${excerpt(path)}`, path)
}

async function refuseCollisions(
  draft: ObjectDraft,
  before: Oid | null,
  after: Oid,
  files: readonly FileChange[],
  within: Loc,
): Promise<void> {
  const put = files.filter((file) => file.bytes !== null).map(({ path }) => path)
  const [collision] = await findCollisions(draft.repo, before, after, put)
  if (!collision) return
  const { path, names } = collision
  const folder = path.slice(0, -names[1].length)
  const at = files.findIndex(
    (file) => file.bytes !== null && names.some((name) => `${file.path}/`.startsWith(`${folder}${name}/`)),
  )
  throw invalid(
    [...within, Math.max(at, 0), 'path'],
    `${names.map(excerpt).join(' and ')} differ only in case, and some file systems cannot hold both`,
    files[at]?.path,
  )
}

function contentOf(change: Change, loc: readonly (string | number)[], problems: Problem[]): Buffer {
  if (change.content === undefined) {
    problems.push({ loc, msg: 'Field required', type: 'missing' })
    return Buffer.alloc(0)
  }
  const bytes = Buffer.from(change.content, change.encoding === 'base64' ? 'base64' : 'utf8')
  if (change.encoding === 'base64' && !isBase64(change.content))
    problems.push({ loc, msg: 'The content is not valid base64', type: 'value_error' })
  if (change.encoding !== 'base64' && /\p{Surrogate}/u.test(change.content)) {
    problems.push({ loc, msg: 'The content has an unpaired surrogate; send it as base64', type: 'value_error' })
  }
  if (bytes.length > limits.fileBytes)
    problems.push({
      loc,
      msg: 'Over REST, a file can have at most 10 MiB; push larger files with Git',
      type: 'string_too_long',
      ctx: { max_length: limits.fileBytes },
    })
  return bytes
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}
