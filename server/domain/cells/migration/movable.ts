/** What moves with an organisation: its repositories, and those of its deleted nodes. */
import { join } from 'node:path'
import { listNames } from '../../../../gitstore/fs-exists.ts'
import { listRepos } from '../../../../gitstore/repo-folders.ts'
import { isId, orgRepository, trashName } from '../../layout.ts'

/** The organisation's own first: paths below it, `<node>.git`, `trash/<node>.<ms>.git`. */
export async function listMovable(folder: string, trash: string): Promise<string[]> {
  const names = (await listRepos(folder)).map((name) => `${name}.git`).filter(isMovable)
  const deleted = (await listNames(trash)).map((name) => `${trashName}/${name}`).filter(isMovable)
  return [...names, ...deleted.sort()].sort((a, b) => Number(b === orgRepository) - Number(a === orgRepository))
}

/** Whether a repository of an organisation has this path. */
export function isMovable(path: string): boolean {
  if (path === orgRepository) return true
  const [, node = '', deleted = ''] = /^([^./]+)\.git$|^trash\/([^./]+)\.\d{1,15}\.git$/.exec(path) ?? []
  return isId(node) || isId(deleted)
}

/** Where a repository of that path is: deleted nodes lie elsewhere than the organisation. */
export function movableAt(folder: string, trash: string, path: string): string {
  return path.startsWith(`${trashName}/`) ? join(trash, path.slice(trashName.length + 1)) : join(folder, path)
}
