/**
 * The records of uploaded imports, which every process reads.
 *
 * They are files in `uploads/<org>/<import>/` of the data folder. `record.json` has the state, `report.json` the result, and a file `cancel` asks the owning process to stop. The
 * archive and what it contains are there only until the import has ended. The process in a record is the only one that
 * writes it. If that process is dead, the import was interrupted.
 */

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, replaceFile } from '../../../../gitstore/durable.ts'
import { asStorageError } from '../../../../gitstore/errors.ts'
import { lexists, listNames } from '../../../../gitstore/fs-exists.ts'
import { readRegular } from '../../../../gitstore/regular-files.ts'
import { parseJson } from '../../../domain/format/json-text.ts'
import { isId, uploadsFolder } from '../../../domain/layout.ts'
import { isLiveProcess } from '../../../domain/live-processes.ts'
import type { Services } from '../../../domain/services.ts'
import { type ImportRecord, type ImportView, recordSchema } from './record-format.ts'
import { type Report, reportSchema } from './report-format.ts'

/** Largest files in bytes. A report has lists of limited length. */
const [mostRecordBytes, mostReportBytes] = [65_536, 16 * 1_048_576]

const interrupted =
  'The service stopped during the import. Everything written until then stays; import the same again to complete it'

/** The folder of an import. */
export function importFolder(root: string, { org_id, id }: Pick<ImportRecord, 'org_id' | 'id'>): string {
  return join(uploadsFolder(root), org_id, id)
}

export function archiveIn(folder: string): string {
  return join(folder, 'archive.zip')
}

/** The folder that an archive is unpacked into. */
export function unpackedIn(folder: string): string {
  return join(folder, 'unpacked')
}

/** @throws GitError storage_* */
export async function writeRecord(root: string, record: ImportRecord): Promise<void> {
  const folder = importFolder(root, record)
  try {
    await makeFolder(folder, 0o700)
    await replaceFile(join(folder, 'record.json'), JSON.stringify(record))
  } catch (error) {
    throw asStorageError(error)
  }
}

/** @throws GitError storage_* */
export async function writeReport(root: string, record: ImportRecord, report: Report): Promise<void> {
  await replaceFile(join(importFolder(root, record), 'report.json'), JSON.stringify(report))
}

/** Returns the import as it is now; undefined if there is none. @throws system errors; DatabaseError */
export async function readImport(deps: Services, orgId: string, id: string): Promise<ImportView | undefined> {
  const record = isId(id) ? await readRecord(deps.store.root, orgId, id) : undefined
  return record && viewOf(deps, record)
}

export async function readReport(
  { store }: Services,
  at: Pick<ImportRecord, 'org_id' | 'id'>,
): Promise<Report | undefined> {
  const bytes = await readRegular(join(importFolder(store.root, at), 'report.json'), mostReportBytes)
  return Buffer.isBuffer(bytes) ? reportSchema.safeParse(parseJson(bytes.toString())).data : undefined
}

/** Lists the imports of an organisation, newest first. */
export async function listImportsOf(deps: Services, orgId: string): Promise<ImportView[]> {
  const found: ImportView[] = []
  for (const id of await idsOf(deps.store.root, orgId)) {
    const one = await readImport(deps, orgId, id)
    if (one) found.push(one)
  }
  return found
}

/** True while an import is received, waits or runs. */
export function isActive({ state }: Pick<ImportRecord, 'state'>): boolean {
  return state === 'queued' || state === 'running'
}

/** Asks the process of the import to stop. @throws GitError storage_* */
export async function askToCancel(root: string, at: Pick<ImportRecord, 'org_id' | 'id'>): Promise<void> {
  await writeFile(cancelFile(importFolder(root, at)), '').catch((error: unknown) => {
    throw asStorageError(error)
  })
}

export function isAskedToCancel(folder: string): boolean {
  return lexists(cancelFile(folder))
}

function cancelFile(folder: string): string {
  return join(folder, 'cancel')
}

/** Removes the archive and what was unpacked. */
export async function removeSpool(folder: string): Promise<void> {
  for (const path of [archiveIn(folder), unpackedIn(folder)]) await rm(path, { recursive: true, force: true })
}

/** Returns the ids of an organisation's imports, newest first: an id begins with its time. */
export async function idsOf(root: string, orgId: string): Promise<string[]> {
  return (await listNames(join(uploadsFolder(root), orgId))).filter(isId).sort().reverse()
}

async function readRecord(root: string, org_id: string, id: string): Promise<ImportRecord | undefined> {
  const bytes = await readRegular(join(importFolder(root, { org_id, id }), 'record.json'), mostRecordBytes)
  return Buffer.isBuffer(bytes) ? recordSchema.safeParse(parseJson(bytes.toString())).data : undefined
}

function viewOf({ store }: Services, record: ImportRecord): ImportView {
  const { process, ...view } = record
  const isOwned = process === store.process || isLiveProcess(store.run, process)
  return isActive(record) && !isOwned ? { ...view, state: 'interrupted', detail: interrupted } : view
}
