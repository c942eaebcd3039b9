/**
 * Finds mirrors of a backup that git need not check.
 *
 * Git found them intact at most days ago, and neither the mirror nor the repository has changed since.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isAbsent } from '../../../gitstore/fs-exists.ts'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import { stateOf } from '../../../gitstore/upkeep/state.ts'
import { listStamps, type MovedRepository, ownRepository } from '../../../index/derived/change-log.ts'
import { sameBranches } from '../indexing/indexed-branches.ts'
import { orgRepository } from '../layout.ts'
import type { Services } from '../services.ts'
import { type MirrorEntry, readManifest } from './manifest.ts'

const dayMs = 24 * 3600 * 1_000
/** Each mirror is checked again after five to seven days. A disk may lose bits of files that nothing writes. */
const shortestDays = 5
const spreadDays = 2

/** Returns the stamps of the index by path. */
export async function readStamps({ index }: Pick<Services, 'index'>): Promise<Map<string, number>> {
  const rows = await listStamps(index.read)
  return new Map(rows.map((row) => [pathOfMoved(row), row.stamp]))
}

/** Returns the path of a repository that the index counts moves of. */
export function pathOfMoved({ org_id, node_id }: MovedRepository): string {
  return join(org_id, node_id === ownRepository ? orgRepository : `${node_id}.git`)
}

/**
 * Returns the mirrors that the last backup into `dir` found intact, by path. Empty if its manifest is missing or
 * damaged.
 */
export async function checkedMirrors(dir: string): Promise<ReadonlyMap<string, MirrorEntry>> {
  const { manifest } = await readManifest(dir)
  return new Map((manifest?.repositories ?? []).filter(({ checked }) => checked).map((entry) => [entry.path, entry]))
}

/**
 * True if no ref has moved since the last check of the mirror. False if it is due. Uses only the stamp of the
 * index (index/derived/change-log.ts), not the files. A change of the files by another program is found when the mirror
 * is due.
 */
export function isStamped({ path, checked, stamp }: MirrorEntry, now: Date, current: number | undefined): boolean {
  return checked !== undefined && stamp !== undefined && stamp === current && !isDue(path, checked.at, now)
}

/** True if the repository has the refs of its unchanged mirror, which is not due. @throws GitError ref_damaged */
export function isUntouched(root: string, dir: string, entry: MirrorEntry, now: Date): boolean {
  const { path, refs, checked } = entry
  if (checked === undefined || isDue(path, checked.at, now)) return false
  if (!sameBranches(new Map(Object.entries(refs)), listRefs({ dir: join(root, path) }, 'refs/'))) return false
  try {
    return stateOf(join(dir, path)) === checked.state
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/** True if the mirror must be checked again. Mirrors of one backup fall due on different days. */
function isDue(path: string, checkedAt: string, now: Date): boolean {
  const spread = (createHash('sha256').update(path).digest().readUInt16BE() / 65_536) * spreadDays
  const age = now.getTime() - Date.parse(checkedAt)
  return !(age >= 0 && age < (shortestDays + spread) * dayMs)
}
