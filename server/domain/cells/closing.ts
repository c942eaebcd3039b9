/** The mark of an organisation that moves to another cell: it takes no changes. All processes see it. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, writeSynced } from '../../../gitstore/durable.ts'
import { exists } from '../../../gitstore/fs-exists.ts'
import type { Store } from '../../../gitstore/store.ts'
import { AppError } from '../../base/errors.ts'
import { closedFile, orgFolder } from '../layout.ts'

/** Checks that no folder has the mark. @param folders of organisations or others @throws AppError moving */
export function refuseClosed(root: string, folders: readonly string[]): void {
  if (folders.some((folder) => exists(join(root, folder, closedFile))))
    throw new AppError(
      'moving',
      'The organisation is moving to another cell; nothing was changed, try again in a moment',
    )
}

/** True if the organisation takes no changes. It is moving, or another cell already has it. */
export function isClosed(store: Pick<Store, 'root'>, orgId: string): boolean {
  return exists(join(store.root, orgId, closedFile))
}

/** Sets the mark durably. @throws GitError storage_*, system errors */
export async function close(store: Store, orgId: string): Promise<void> {
  const folder = orgFolder(store, orgId)
  await writeSynced(join(folder, closedFile), '')
  await syncDirectory(folder)
}

/** Removes the mark, so that the organisation takes changes again. */
export async function reopen(store: Store, orgId: string): Promise<void> {
  await rm(join(orgFolder(store, orgId), closedFile), { force: true })
}
