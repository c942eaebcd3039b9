/** Starts, reads, lists and cancels imports of uploaded archives, and removes what crashes have left. */

import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { v7 as newId } from 'uuid'
import { asStorageError } from '../../../../gitstore/errors.ts'
import { exists, listNames } from '../../../../gitstore/fs-exists.ts'
import { fileSystemTime, removeIfStale } from '../../../../gitstore/upkeep/stale-files.ts'
import { withFileLock } from '../../../../index/sqlite/file-lock.ts'
import { AppError, invalid } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import { authorizeOrg, recheckAccess, requireRole } from '../../../domain/access.ts'
import type { Person } from '../../../domain/actor.ts'
import { requireOverridable } from '../../../domain/consent/rule-checks.ts'
import { canonicalId, isId, orgFolder, uploadsFolder } from '../../../domain/layout.ts'
import { type Page, pageOf, slice } from '../../../domain/pagination.ts'
import type { Ctx, RequestCtx, Services } from '../../../domain/services.ts'
import type { ImportAt, OrgAt, Path, Query } from '../../../domain/targets.ts'
import { ArchiveError, openArchive } from './archive.ts'
import { type ImportOptions, neededFor } from './order.ts'
import { runQueued } from './queued-import.ts'
import type { ImportRecord, ImportView } from './record-format.ts'
import {
  archiveIn,
  askToCancel,
  idsOf,
  importFolder,
  isActive,
  isAskedToCancel,
  listImportsOf,
  readImport,
  readReport,
  removeSpool,
  writeRecord,
} from './records.ts'
import type { Report } from './report-format.ts'

interface StartImport extends Path<OrgAt>, Query<ImportQuery> {
  /** Opens the archive's bytes. Called once the caller may import. */
  readonly upload: () => Readable
}

interface ImportQuery {
  /** The name of the folder, if the archive does not give one. */
  readonly name?: string
  readonly dry_run?: boolean
  readonly base?: string
  readonly exclude?: string
  /** Why an owner creates nodes in spite of rules that guard them. */
  readonly override?: string
  /** True if the changes become items of change sets. */
  readonly propose?: boolean
}

type Order = ReturnType<typeof orderOf>

function orderOf({ name = 'Imported', dry_run: dryRun = false, base, exclude, override, propose }: ImportQuery) {
  const asked = { ...(base && { base }), ...(exclude && { exclude }) }
  const way = { ...(override !== undefined && { override }), ...(propose && { propose }) }
  const options: ImportOptions = { dryRun, ...asked, ...way }
  return { name, options }
}

/** An import with its report, if it is done. */
export type ImportDetails = ImportView & { readonly report?: Report }

/** Milliseconds that a start waits for others that begin at the same time. */
const lockMs = 5_000
/** Milliseconds that a cancellation waits for the import to stop, and between two checks. */
const [cancelMs, lookMs] = [10_000, 50]

/**
 * Receives an archive and queues its import. Nothing is imported yet when this returns.
 *
 * @throws AppError as authorizeOrg, import_running, busy, too_large, storage_*; the errors of the stream
 * @throws ValidationError the archive must not be unpacked
 */
export async function startImport(ctx: Ctx<Person>, { path, query, upload }: StartImport): Promise<ImportView> {
  const { org_id: orgId } = path
  const input = orderOf(query)
  const need = neededFor(input.options)
  const access = await authorizeOrg(ctx, path, need)
  const { org } = access
  if (query.override !== undefined && query.propose)
    throw invalid(
      ['query', 'propose'],
      'Send either `override` or `propose`: the merge of a proposal has its own override',
    )
  if (query.override !== undefined) requireOverridable(ctx.actor, access, query.override, ['query', 'override'])
  const { imports, store } = ctx
  if (imports === undefined) throw new Error('Only a service imports archives')
  const release = imports.reserve(ctx.actor.id)
  let record: ImportRecord | undefined
  try {
    record = await begin(ctx, org.id, input)
    const folder = importFolder(store.root, record)
    await receive(ctx, upload(), folder)
    const name = (await checkArchive(archiveIn(folder))) ?? input.name
    // The upload may have taken long.
    await recheckAccess(ctx, orgId, need)
    record = { ...record, name, progress: { phase: 'waiting', done: 0, total: 0 } }
    await writeRecord(store.root, record)
  } catch (error) {
    release()
    if (record) await endReceiving(ctx, record, error instanceof AppError && error.code === 'import_ended')
    throw error
  }
  const { name, options } = input
  const queued = { record, order: { person: ctx.actor, orgId: org.id, name, options } }
  imports.add((turn, closing) => runQueued(ctx, queued, turn, closing), release)
  const { process: _, ...view } = record
  return view
}

/** Records a new import, if no other is active in the organisation. Forgets old ones. */
async function begin(ctx: Ctx<Person>, org_id: string, { name, options }: Order): Promise<ImportRecord> {
  const { store, now } = ctx
  const record: ImportRecord = {
    ...{ id: newId(), org_id, name, state: 'queued', dry_run: options.dryRun },
    ...{ created_by: ctx.actor.id, created_at: now().toISOString() },
    progress: { phase: 'receiving', done: 0, total: 0 },
    process: store.process,
  }
  const work = async () => {
    const known = await listImportsOf(ctx, org_id)
    const running = known.find(isActive)
    if (running)
      throw new AppError(
        'import_running',
        'Another import into this organisation has not ended; wait for it, or cancel it',
        { import_id: running.id },
      )
    for (const { id } of known.slice(limits.listedImports - 1))
      await rm(importFolder(store.root, { org_id, id }), { recursive: true, force: true })
    await writeRecord(store.root, record)
    return record
  }
  const begun = await withFileLock(join(store.run, 'uploads'), ctx.draining, work, lockMs)
  if (begun === undefined) throw new AppError('draining', 'The service is about to stop; try again in a moment')
  return begun
}

/**
 * Writes the stream to the archive of the import.
 *
 * @throws AppError too_large, import_ended, draining
 * @throws GitError storage_*, the errors of the stream
 */
async function receive({ draining }: Services, source: Readable, folder: string): Promise<void> {
  const stop = () =>
    source.destroy(new AppError('draining', 'The service is about to stop; send the archive again in a moment'))
  draining.addEventListener('abort', stop, { once: true })
  const looking = setInterval(() => {
    if (isAskedToCancel(folder))
      source.destroy(new AppError('import_ended', 'The import was cancelled while its archive was sent'))
  }, lookMs)
  try {
    if (draining.aborted) stop()
    await pipeline(source, limited(), createWriteStream(archiveIn(folder), { flags: 'wx', mode: 0o600 }))
  } catch (error) {
    throw asStorageError(error)
  } finally {
    clearInterval(looking)
    draining.removeEventListener('abort', stop)
  }
}

/** Passes the archive on, up to its limit. */
function limited(): Transform {
  let size = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      size += chunk.length
      if (size <= limits.archiveBytes) done(null, chunk)
      else
        done(
          new AppError('too_large', `The archive is over ${limits.archiveBytes / 1_048_576} MiB; import it in parts`),
        )
    },
  })
}

/** Forgets an import that was never queued. One that was cancelled stays in the list. */
async function endReceiving({ store, now }: Services, record: ImportRecord, isCancelled: boolean): Promise<void> {
  const folder = importFolder(store.root, record)
  if (!isCancelled) return rm(folder, { recursive: true, force: true })
  await removeSpool(folder)
  await writeRecord(store.root, {
    ...record,
    state: 'cancelled',
    ended_at: now().toISOString(),
    detail: 'The import was cancelled while its archive was sent. Nothing was imported',
  })
}

/** Returns the folder that holds everything, if there is one. @throws ValidationError */
async function checkArchive(path: string): Promise<string | undefined> {
  try {
    const { zip, folder } = await openArchive(path)
    zip.close()
    return folder
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw asStorageError(error)
    throw invalid(['body'], error.message)
  }
}

/** @throws AppError as authorizeOrg, import_not_found */
export async function getImport(ctx: Ctx<Person>, { path }: Path<ImportAt>): Promise<ImportDetails> {
  const found = await requireImport(ctx, path)
  const report = found.state === 'done' ? await readReport(ctx, found) : undefined
  return report ? { ...found, report } : found
}

/** Lists the latest imports, newest first. */
export async function listImports(ctx: Ctx<Person>, { path, query }: Path<OrgAt> & Query<Page>) {
  const { org } = await authorizeOrg(ctx, path, 'editor')
  const imports = await listImportsOf(ctx, org.id)
  return { imports: slice(imports, query), ...pageOf(query, imports.length) }
}

/**
 * Asks an import to stop, and waits a while until it has. The process that runs it may be another one.
 *
 * @throws AppError as authorizeOrg, import_not_found, import_ended
 */
export async function cancelImport(ctx: RequestCtx<Person>, { path }: Path<ImportAt>): Promise<ImportView> {
  const { signal } = ctx.request
  let found = await requireImport(ctx, path)
  if (!isActive(found)) throw new AppError('import_ended', 'The import has already ended, so it cannot be cancelled')
  await askToCancel(ctx.store.root, found)
  const since = performance.now()
  while (isActive(found) && performance.now() - since < cancelMs) {
    await pause(lookMs, undefined, { signal })
    found = await requireImport(ctx, path)
  }
  return found
}

/** Finds an import for editors, or for the contributor who has started it. @throws AppError import_not_found */
async function requireImport(ctx: Ctx<Person>, path: ImportAt): Promise<ImportView> {
  const access = await authorizeOrg(ctx, path, 'contributor')
  const found = await readImport(ctx, canonicalId(path.org_id), canonicalId(path.import_id))
  if (found?.created_by !== ctx.actor.id) requireRole(access, 'editor')
  if (!found) throw new AppError('import_not_found', 'Import not found; the latest 20 of an organisation are kept')
  return found
}

/** Removes the archives of interrupted imports, and the imports of organisations that are gone. For the sweep. */
export async function removeLeftUploads(deps: Services): Promise<void> {
  const { store } = deps
  const root = uploadsFolder(store.root)
  const now = await fileSystemTime(store)
  for (const orgId of (await listNames(root)).filter(isId)) {
    if (deps.draining.aborted) return
    if (!exists(orgFolder(store, orgId))) {
      await rm(join(root, orgId), { recursive: true, force: true })
      continue
    }
    for (const id of await idsOf(store.root, orgId)) {
      const found = await readImport(deps, orgId, id)
      const folder = importFolder(store.root, { org_id: orgId, id })
      // Another process may be about to write the record.
      if (found === undefined) await removeIfStale(folder, now)
      else if (!isActive(found)) await removeSpool(folder)
    }
  }
}
