/** Which mirrors of a backup need no look by git: nothing has changed on either side since git found them sound, days ago at most. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isAbsent } from '../../../gitstore/fs-exists.ts'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import { stateOf } from '../../../gitstore/upkeep/state.ts'
import { listStamps, ownRepository } from '../../../index/derived/change-log.ts'
import type { Deps } from '../../base/deps.ts'
import { sameBranches } from '../indexing/indexed-branches.ts'
import { orgRepository } from '../layout.ts'
import { type MirrorEntry, readManifest } from './manifest.ts'

const dayMs = 24 * 3600 * 1_000
/** A disk may lose bits under a file that nothing writes: each mirror is checked again after five to seven days. */
const shortestDays = 5
const spreadDays = 2

/** By path: the stamps of the index. */
export async function readStamps({ index }: Pick<Deps, 'index'>): Promise<Map<string, number>> {
  const rows = await listStamps(index.read)
  const nameOf = (node: string) => (node === ownRepository ? orgRepository : `${node}.git`)
  return new Map(rows.map(({ org_id, node_id, stamp }) => [join(org_id, nameOf(node_id)), stamp]))
}

/** By path: what the last backup into `dir` has found sound. Empty where there is none, or its manifest is damaged. */
export async function checkedMirrors(dir: string): Promise<ReadonlyMap<string, MirrorEntry>> {
  const { manifest } = await readManifest(dir)
  return new Map((manifest?.repositories ?? []).filter(({ checked }) => checked).map((entry) => [entry.path, entry]))
}

/**
 * Whether the service has moved no ref since the mirror was checked, and the mirror need not be looked at yet: by the stamp of the
 * index (ref-moves.ts), without a look at either. What another program does to the files is seen when the mirror is due.
 */
export function isStamped({ path, checked, stamp }: MirrorEntry, now: Date, current: number | undefined): boolean {
  return checked !== undefined && stamp !== undefined && stamp === current && !isDue(path, checked.at, now)
}

/** Whether the repository in `root` has the refs of its mirror in `dir`, which is as it was. @throws GitError ref_damaged */
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

/** Mirrors of one backup fall due on different days. */
function isDue(path: string, checkedAt: string, now: Date): boolean {
  const spread = (createHash('sha256').update(path).digest().readUInt16BE() / 65_536) * spreadDays
  const age = now.getTime() - Date.parse(checkedAt)
  return !(age >= 0 && age < (shortestDays + spread) * dayMs)
}
