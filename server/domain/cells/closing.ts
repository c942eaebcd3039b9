/** The mark in the folder of an organisation that moves to another cell: it takes no changes. All processes of the cell see it. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, writeSynced } from '../../../gitstore/durable.ts'
import { exists } from '../../../gitstore/fs-exists.ts'
import type { Store } from '../../../gitstore/store.ts'
import { AppError } from '../../base/errors.ts'
import { closedFile, orgFolder } from '../layout.ts'

/** @param folders of organisations, and others @throws AppError moving: one of them takes no changes */
export function refuseClosed(root: string, folders: readonly string[]): void {
  if (folders.some((folder) => exists(join(root, folder, closedFile))))
    throw new AppError(
      'moving',
      'The organisation is moving to another cell; nothing was changed, try again in a moment',
    )
}

/** Whether it takes no changes: it moves, or another cell has it already. */
export function isClosed(store: Pick<Store, 'root'>, orgId: string): boolean {
  return exists(join(store.root, orgId, closedFile))
}

/** Durably. @throws GitError storage_*, system errors */
export async function close(store: Store, orgId: string): Promise<void> {
  const folder = orgFolder(store, orgId)
  await writeSynced(join(folder, closedFile), '')
  await syncDirectory(folder)
}

/** The organisation takes changes again. */
export async function reopen(store: Store, orgId: string): Promise<void> {
  await rm(join(orgFolder(store, orgId), closedFile), { force: true })
}
