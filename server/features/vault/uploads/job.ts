/** Unpacks and imports one archive, with the rights of the user who sent it. Runs in a process for that import. */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findOrgRow } from '../../../../index/derived/org-queries.ts'
import { answerOf } from '../../../base/error-mapping.ts'
import { AppError, ValidationError } from '../../../base/errors.ts'
import { recheckAccess } from '../../../domain/access.ts'
import { audit } from '../../../domain/audit/audit.ts'
import { diskFullError } from '../../../domain/disk-reserve.ts'
import type { Services } from '../../../domain/services.ts'
import { toSingleLine } from '../../../markdown/single-line.ts'
import { localDestination } from '../apply/destination.ts'
import { syncFolder } from '../apply/sync.ts'
import { UnreadableExclusionsError } from '../read/exclusions.ts'
import { listFolder } from '../read/folder.ts'
import { DamagedVaultFileError, findVaultId, makeVaultId } from '../read/vault-file.ts'
import { ArchiveError, openArchive } from './archive.ts'
import { type ImportOrder, neededFor, type Outcome } from './order.ts'
import type { ImportRecord } from './record-format.ts'
import { archiveIn, unpackedIn } from './records.ts'
import { reportOf } from './report.ts'
import { unpack } from './unpack.ts'
import { vaultOf } from './vault-id.ts'

type Phase = ImportRecord['progress']['phase']
type Tell = (progress: ImportRecord['progress']) => void

/** Milliseconds between two checks of the user's rights. */
const checkEveryMs = 1_000

/**
 * Runs the import to its end. Every error becomes an outcome.
 *
 * @param stop aborts when the import is to stop; `deps.draining` must be its signal
 */
export async function runImportJob(
  deps: Services,
  order: Omit<ImportOrder, 'config'>,
  stop: AbortController,
  tell: Tell,
): Promise<Outcome> {
  const watching = watchRights(deps, order, stop)
  try {
    return { kind: 'done', report: await importArchive(deps, order, stop.signal, tell) }
  } catch (thrown) {
    const error: unknown = stop.signal.aborted ? stop.signal.reason : thrown
    const detail = sentenceOf(error)
    if (detail !== undefined) return { kind: 'failed', detail }
    if (stop.signal.aborted) return { kind: 'ended' }
    deps.log.error({ err: error, orgId: order.orgId }, 'an import failed')
    return { kind: 'failed', detail: 'The service failed during the import; its log has the reason' }
  } finally {
    clearInterval(watching)
  }
}

async function importArchive(
  deps: Services,
  { orgId, person, folder, name, options }: Omit<ImportOrder, 'config'>,
  signal: AbortSignal,
  tell: Tell,
) {
  const to = (phase: Phase) => (done: number, total: number) => tell({ phase, done, total })
  await recheckAccess({ ...deps, actor: person }, orgId, neededFor(options))
  const archive = await openArchive(archiveIn(folder))
  const dir = join(unpackedIn(folder), archive.folder ?? folderName(name))
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await unpack(archive, dir, { signal, onProgress: to('unpacking') })
  } finally {
    archive.zip.close()
  }
  await identify(deps, orgId, dir, signal)
  const progressFor = (step: 'Reading' | 'Writing') => ({
    at: to(step === 'Reading' ? 'reading' : 'writing'),
    end: () => {},
  })
  const { dryRun, base, exclude, override, propose } = options
  const synced = await syncFolder({
    to: localDestination({ ...deps, actor: person }),
    folder: dir,
    options: {
      org: orgId,
      dryRun,
      ...(base === undefined ? {} : { base }),
      ...(exclude === undefined ? {} : { exclude: exclude.split('\n') }),
      ...(override === undefined ? {} : { override }),
      ...(propose && { propose }),
    },
    signal,
    progressFor,
    remembers: false,
    pruningCommand: () => '',
  })
  if (override !== undefined && !dryRun) {
    const target = { type: 'org', id: orgId } as const
    await audit(deps, { action: 'org.imported', actor: person, orgId, target, detail: { overridden: true } })
  }
  return reportOf(synced)
}

/** Gives the folder the id of its vault, if it has none. @throws DamagedVaultFileError */
async function identify(deps: Services, orgId: string, dir: string, signal: AbortSignal): Promise<void> {
  if ((await findVaultId(dir)) !== undefined) return
  const { files } = await listFolder(dir, { exclude: [], signal })
  const org = await findOrgRow(deps.index.read, orgId)
  await makeVaultId(dir, await vaultOf(deps, orgId, org?.vault_id ?? undefined, files))
}

/** Stops the import when it may not write. The user loses the right, the sign-in ends, or the disk is full. */
function watchRights(
  deps: Services,
  { person, orgId, options }: Omit<ImportOrder, 'config'>,
  stop: AbortController,
): NodeJS.Timeout {
  return setInterval(() => {
    if (deps.reserve.isFreed()) stop.abort(diskFullError())
    recheckAccess({ ...deps, actor: person }, orgId, neededFor(options)).catch((error: unknown) => {
      // A database that does not answer says nothing about rights.
      if (error instanceof AppError) stop.abort(error)
    })
  }, checkEveryMs)
}

/** Returns a possible name of a folder. It becomes the title of the first node. */
function folderName(name: string): string {
  const line = toSingleLine(name.replaceAll('/', ' '), 60).trim()
  return line === '' || line === '.' || line === '..' ? 'Imported' : line
}

const rightsLost: Readonly<Record<string, string>> = {
  forbidden: 'Your role in the organisation no longer allows imports. Everything written until then stays',
  org_not_found: 'The organisation was deleted during the import',
  invalid_token: 'The sign-in or the token that started the import has ended. Everything written until then stays',
}

/** Returns what the user is shown; undefined for a fault of the service. */
function sentenceOf(error: unknown): string | undefined {
  const kinds = [ArchiveError, DamagedVaultFileError, UnreadableExclusionsError, ValidationError]
  if (kinds.some((kind) => error instanceof kind) && error instanceof Error) return error.message
  const answer = answerOf(error)
  if (!(answer instanceof AppError)) return answer?.message
  if (answer.code === 'storage_full')
    return 'The disk of the service is full. Everything written until then stays; import again when there is room'
  return rightsLost[answer.code] ?? answer.message
}
