/** The repositories that move with an organisation: its own, its nodes' and its deleted nodes'. */
import { join } from 'node:path'
import { listNames } from '../../../../gitstore/fs-exists.ts'
import { listRepos } from '../../../../gitstore/repo-folders.ts'
import { arrivingFolder, isId, orgRepository, trashName } from '../../layout.ts'

/** Lists paths relative to the organisation, its own first: `<node>.git`, `trash/<node>.<ms>.git`. */
export async function listMovable(folder: string, trash: string): Promise<string[]> {
  const names = (await listRepos(folder)).map((name) => `${name}.git`).filter(isMovable)
  const deleted = (await listNames(trash)).map((name) => `${trashName}/${name}`).filter(isMovable)
  return [...names, ...deleted.sort()].sort((a, b) => Number(b === orgRepository) - Number(a === orgRepository))
}

/** True if a repository of an organisation can have this path. */
export function isMovable(path: string): boolean {
  if (path === orgRepository) return true
  const [, node = '', deleted = ''] = /^([^./]+)\.git$|^trash\/([^./]+)\.\d{1,15}\.git$/.exec(path) ?? []
  return isId(node) || isId(deleted)
}

/** Returns the folder of the repository with that path. Deleted nodes are in another folder than the organisation. */
export function movableAt(folder: string, trash: string, path: string): string {
  return path.startsWith(`${trashName}/`) ? join(trash, path.slice(trashName.length + 1)) : join(folder, path)
}

/** Returns the folder of an organisation that another cell is sending. */
export function arrivingOf({ root }: { readonly root: string }, orgId: string): string {
  return join(arrivingFolder(root), orgId)
}
