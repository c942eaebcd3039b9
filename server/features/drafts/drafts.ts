/** The drafts of the caller. Nobody else reads them over this API. */

import { readCommit } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { listOrgNamesOf } from '../../../index/derived/org-queries.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, orgIsGone, recheckAccess } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import { requireRoomFor } from '../../domain/byte-quota.ts'
import {
  buildDraft,
  type DraftFields,
  draftName,
  draftsOf,
  listStoredDrafts,
  readDraft,
  readDraftText,
  type StoredDraft,
} from '../../domain/drafts/stored-drafts.ts'
import { textBytes } from '../../domain/format/node-files.ts'
import { type Page, pageOf, slice } from '../../domain/pagination.ts'
import type { Ctx } from '../../domain/services.ts'
import { tryIndexSets } from '../../domain/sets/set-changes.ts'
import type { Body, DraftAt, OrgAt, Path, Query } from '../../domain/targets.ts'

interface DraftChange extends Partial<Omit<DraftFields, 'node_id' | 'title'>>, Pick<DraftFields, 'node_id' | 'title'> {
  readonly text_content: string
  /** The version that must be there. Null: the draft must not exist. */
  readonly expected_version: Oid | null
}

/** Lists the drafts of the caller in all organisations, the last saved first. */
export async function listDrafts(ctx: Ctx<Person>, { query }: Query<Page>) {
  const elsewhere = await ctx.placement.listOrgsElsewhere(ctx.actor.id)
  const found = []
  for (const { id, name } of await listOrgNamesOf(ctx.index.read, ctx.actor.id))
    for (const draft of await listOwn(ctx, id)) found.push({ org_id: id, org_name: name, ...draft })
  found.sort((a, b) => (a.saved_at < b.saved_at ? 1 : a.saved_at > b.saved_at ? -1 : 0))
  const others = Object.fromEntries(elsewhere.map(({ id, name }) => [id, name]))
  return { drafts: slice(found, query), ...pageOf(query, found.length), elsewhere: others }
}

/** Lists the drafts of the caller in an organisation, the last saved first. */
export async function listOrgDrafts(
  ctx: Ctx<Person>,
  { path, query }: Path<OrgAt> & Query<Page & { readonly node_id?: string }>,
) {
  await authorizeOrg(ctx, path, 'reader')
  const all = await listOwn(ctx, path.org_id)
  const found = all.filter(({ node_id }) => query.node_id === undefined || node_id === query.node_id)
  return { drafts: slice(found, query), ...pageOf(query, found.length) }
}

/** @throws AppError draft_not_found, and as authorizeOrg */
export async function getDraft(ctx: Ctx<Person>, { path }: Path<DraftAt>) {
  await authorizeOrg(ctx, path, 'public')
  return readOwn(ctx, path)
}

/**
 * Stores a draft, or replaces it. A repeated request succeeds.
 *
 * @throws AppError version_moved, too_many_drafts, quota_exceeded, and as authorizeOrg
 * @throws ValidationError the text has too many bytes
 */
export async function putDraft(ctx: Ctx<Person>, { path, body }: Path<DraftAt> & Body<DraftChange>) {
  await authorizeOrg(ctx, path, 'contributor')
  const { expected_version: expected, text_content: text, ...fields } = body
  await requireRoomFor(ctx, path.org_id, text)
  const name = draftName(ctx, path.org_id, ctx.actor.id, path.draft_id)
  const batch = newObjectBatch(name.repo)
  const to = await buildDraft(batch, ctx.actor, ctx.now(), {
    ...{ is_new: false, branch: 'main', head: null, message: '', form: '', ...fields },
    text: textBytes(text, ['body', 'text_content'], limits.draftBytes),
  })
  await updateRefs(ctx.store, [name], async (current) => {
    await recheckAccess(ctx, path.org_id, 'contributor')
    const before = current(name)
    if (before !== null && (await hasTreeOf(batch.repo, before, to))) return { moves: [], value: undefined }
    if (before !== expected) throw versionMoved(before)
    if (before === null && listRefs(name.repo, draftsOf(ctx.actor.id)).size >= limits.drafts) throw tooManyDrafts()
    return { moves: [{ ...name, to }], value: undefined, save: batch.save }
  }).catch(orgIsGone)
  await tryIndexSets(ctx, path.org_id)
  return readOwn(ctx, path)
}

/** Deletes a draft. @throws AppError draft_not_found, and as authorizeOrg */
export async function deleteDraft(ctx: Ctx<Person>, { path }: Path<DraftAt>): Promise<void> {
  await authorizeOrg(ctx, path, 'public')
  const name = draftName(ctx, path.org_id, ctx.actor.id, path.draft_id)
  await updateRefs(ctx.store, [name], async (current) => {
    if (current(name) === null) throw draftNotFound()
    return { moves: [{ ...name, to: null }], value: undefined }
  }).catch(orgIsGone)
  await tryIndexSets(ctx, path.org_id)
}

async function listOwn(ctx: Ctx<Person>, orgId: string) {
  const all = await listStoredDrafts(ctx, orgId, draftsOf(ctx.actor.id))
  return all.filter(({ writer }) => writer === ctx.actor.id).map(toView)
}

async function readOwn(ctx: Ctx<Person>, { org_id: orgId, draft_id: id }: DraftAt) {
  const { repo, ref } = draftName(ctx, orgId, ctx.actor.id, id)
  const version = readRef(repo, ref)
  const draft = version === null ? undefined : await readDraft(repo, id, version)
  if (version === null || draft?.writer !== ctx.actor.id) throw draftNotFound()
  return { ...toView(draft), text_content: await readDraftText(repo, version) }
}

function toView({ writer: _, ...draft }: StoredDraft) {
  return draft
}

async function hasTreeOf(repo: Parameters<typeof readCommit>[0], one: Oid, other: Oid): Promise<boolean> {
  return (await readCommit(repo, one)).tree === (await readCommit(repo, other)).tree
}

function draftNotFound(): AppError {
  return new AppError('draft_not_found', 'Draft not found')
}

function versionMoved(version: Oid | null): AppError {
  const now = version === null ? 'does not exist' : `has the version ${version}`
  const detail = `The draft has changed since you read it, and now ${now}; nothing was changed`
  throw new AppError('version_moved', detail, { current_version: version })
}

function tooManyDrafts(): AppError {
  const detail = `You have ${limits.drafts} drafts in this organisation. Save or discard some of them first`
  return new AppError('too_many_drafts', detail)
}
