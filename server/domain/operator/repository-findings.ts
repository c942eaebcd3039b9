/** What is wrong with one repository of a data folder, found without a change to it. */
import { join, relative } from 'node:path'
import { GitError } from '../../../gitstore/errors.ts'
import { findDamage } from '../../../gitstore/objects/fsck.ts'
import { isTaken } from '../../../gitstore/presence.ts'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findOddEntry } from '../../../gitstore/upkeep/hazards.ts'
import { listStaleFiles } from '../../../gitstore/upkeep/stale-files.ts'
import { readRecord } from '../format/org-format.ts'
import { identityRef, type RepositoryPlace } from '../indexing/stored-repositories.ts'
import { ledgerRef, runFolder } from '../layout.ts'
import { readNodeRecord } from '../ledger/ledger.ts'

export interface Finding {
  /** A fault is wrong; a note will be gone by itself or does no harm. */
  readonly kind: 'fault' | 'note'
  readonly subject: 'repository' | 'database' | 'index' | 'graph' | 'leftover'
  /** Below the data folder. */
  readonly path: string
  readonly reason: string
}

export function fault(subject: Finding['subject'], path: string, reason: string): Finding {
  return { kind: 'fault', subject, path, reason }
}

/** @throws system errors; the signal's reason */
export async function examineRepository(
  root: string,
  place: RepositoryPlace,
  now: Date,
  signal: AbortSignal,
): Promise<Finding[]> {
  signal.throwIfAborted()
  const repo = { dir: join(root, place.path) }
  if (!isTaken(repo.dir)) {
    // Else it was deleted since it was listed.
    if (place.nodeId !== undefined || !isTaken(join(root, place.orgId))) return []
    return [fault('repository', place.path, 'is missing: nothing of the organisation can be read')]
  }
  const wrong = await damagesOf(repo, place, signal)
  const findings = isTaken(repo.dir) ? wrong.map((reason) => fault('repository', place.path, reason)) : []
  for (const path of listStaleFiles(runFolder(root), repo, now.getTime())) {
    const isLock = path.endsWith('.lock')
    const reason = isLock ? 'a lock that nobody holds any more' : 'a temporary file that nobody writes any more'
    findings.push({ kind: isLock ? 'fault' : 'note', subject: 'leftover', path: relative(root, path), reason })
  }
  return findings
}

async function damagesOf(repo: Repo, place: RepositoryPlace, signal: AbortSignal): Promise<string[]> {
  // Git would wait for a pipe for as long as it may run.
  const odd = await findOddEntry(repo.dir, false)
  if (odd !== undefined) return [odd]
  try {
    // Whoever writes at this moment may confuse git; what is broken stays so.
    const damage = (await findDamage(repo, 'full', signal)) && (await findDamage(repo, 'full', signal))
    return damage === undefined ? await untruths(repo, place) : [damage]
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof GitError) return [error.message]
    throw error
  }
}

/** What keeps a sound repository from saying that it is the one of its name, and all that it should. */
async function untruths(repo: Repo, place: RepositoryPlace): Promise<string[]> {
  const oid = listRefs(repo, 'refs/').get(identityRef(place))
  if (!oid) return [`${identityRef(place)} is missing`]
  if (place.nodeId === undefined) return untruthsOfOrg(repo, oid, place.orgId)
  const { id, org_id } = await readNodeRecord(repo, oid)
  return id === place.nodeId && org_id === place.orgId ? [] : [`${ledgerRef} says that it is ${org_id}/${id}.git`]
}

async function untruthsOfOrg(repo: Repo, head: Oid, orgId: string): Promise<string[]> {
  const { org, damaged = [] } = await readRecord(repo, head)
  return [
    ...(org.id === orgId ? [] : [`org.json says that it is ${org.id}`]),
    ...damaged.map(({ path, reason }) => `${path} is damaged, and this person is no member: ${reason}`),
  ]
}
