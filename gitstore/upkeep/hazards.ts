/**
 * Finds hazards in a foreign folder before Git reads it as a repository. Git opens every file that such a folder holds
 * or names.
 */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../fs-exists.ts'
import { kindOf, readRegular } from '../regular-files.ts'
import type { Repo } from '../repo.ts'
import { config } from '../repo-folders.ts'

/** Bytes of a configuration that are searched. */
const configLimitBytes = 1_048_576

/**
 * Explains to the operator why the bare repository in `dir` must not be opened. Undefined if it has only files and folders,
 * and names no place outside itself. Opens only regular files. Takes about 20 µs per entry.
 *
 * @throws system errors
 */
export async function findHazard(dir: string): Promise<string | undefined> {
  return (await findOddEntry(dir)) ?? (await findExternalReference(dir))
}

/** Finds the first entry below `dir` that is neither a file nor a folder. Links count unless `linksToo` is false. */
export async function findOddEntry(dir: string, linksToo = true): Promise<string | undefined> {
  const pending = ['']
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await readdir(join(dir, folder), { withFileTypes: true })) {
      if (entry.isDirectory()) pending.push(`${folder}${entry.name}/`)
      else if (!entry.isFile() && (linksToo || !entry.isSymbolicLink()))
        return `${folder}${entry.name} is ${kindOf(entry)}; a repository holds files and folders only`
    }
  }
  return undefined
}

/** Finds files with which a repository names other repositories. Git would also read those. */
async function findExternalReference(dir: string): Promise<string | undefined> {
  if ((await sizeOf(join(dir, 'objects/info/alternates'))) > 0)
    return 'it borrows objects from another folder (objects/info/alternates); git clone --mirror --no-local copies them'
  if ((await sizeOf(join(dir, 'commondir'))) > 0) return 'it is a worktree of another repository (commondir)'
  for (const name of ['config', 'config.worktree']) {
    const found = await readRegular(join(dir, name), configLimitBytes)
    if (typeof found === 'string') return `${name}: ${found}`
    // Git reads the sections include and includeIf anywhere in a line that began as a section.
    if (found && /\[\s*include/i.test(found.toString('latin1')))
      return `${name} includes other files; remove its [include] sections`
  }
  return undefined
}

/** True if the repository has the configuration that Grove writes. Another could lead a fetch into it elsewhere. */
export async function hasOwnConfig({ dir }: Repo): Promise<boolean> {
  const bytes = await readRegular(join(dir, 'config'), configLimitBytes)
  return bytes?.toString() === config
}

/** Returns 0 if the file is missing. */
async function sizeOf(path: string): Promise<number> {
  return (await ignoreMissing(lstat(path)))?.size ?? 0
}
