/** Checks one repository of a data folder without changing it. */

import { join, relative } from 'node:path'
import { GitError } from '../../../gitstore/errors.ts'
import { lexists } from '../../../gitstore/fs-exists.ts'
import { findDamage, findIntact } from '../../../gitstore/objects/fsck.ts'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findOddEntry } from '../../../gitstore/upkeep/hazards.ts'
import { listStaleFiles } from '../../../gitstore/upkeep/stale-files.ts'
import { readRecord } from '../format/org-format.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { identityRef, type StoredRepository } from '../indexing/stored-repositories.ts'
import { ledgerRef, runFolder } from '../layout.ts'
import { readNodeRecord } from '../ledger/ledger.ts'
import { readTypes } from '../types/stored-types.ts'

/** A finding. `path` is relative to the data folder. */
export interface Finding extends PathProblem {
  /** A note is harmless, or disappears without action. */
  readonly kind: 'fault' | 'note'
  readonly subject: 'repository' | 'database' | 'index' | 'graph' | 'leftover' | 'directory' | 'events'
}

export function damageFinding(subject: Finding['subject'], path: string, reason: string): Finding {
  return { kind: 'fault', subject, path, reason }
}

/**
 * Returns the paths of repositories in which Git finds no fault. Some of the others may also be intact.
 *
 * @throws the signal's reason
 */
export async function listIntact(
  root: string,
  some: readonly StoredRepository[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  signal.throwIfAborted()
  const repos: Repo[] = []
  for (const { path } of some) {
    const repo = { dir: join(root, path) }
    // Git would block on a named pipe until its time limit. A folder that cannot be listed is left to `examineRepository`.
    if ((await findOddEntry(repo.dir, false).catch(() => 'is missing')) === undefined) repos.push(repo)
  }
  const intact = await findIntact(repos, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    if (error instanceof GitError) return []
    throw error
  })
  return new Set(intact.map(({ dir }) => relative(root, dir)))
}

/** @param isIntact true if Git has just found no fault in it. @throws system errors; the signal's reason */
export async function examineRepository(
  root: string,
  stored: StoredRepository,
  now: Date,
  signal: AbortSignal,
  isIntact: boolean,
): Promise<Finding[]> {
  signal.throwIfAborted()
  const repo = { dir: join(root, stored.path) }
  if (!lexists(repo.dir)) {
    // It may have been deleted after the listing.
    if (stored.nodeId !== undefined || !lexists(join(root, stored.orgId))) return []
    return [damageFinding('repository', stored.path, 'is missing, so the organisation cannot be read')]
  }
  const wrong = await damagesOf(repo, stored, signal, isIntact)
  const findings = lexists(repo.dir) ? wrong.map((reason) => damageFinding('repository', stored.path, reason)) : []
  for await (const path of listStaleFiles(runFolder(root), repo, now.getTime())) {
    const isLock = path.endsWith('.lock')
    const reason = isLock ? 'a stale lock' : 'an abandoned temporary file'
    findings.push({ kind: isLock ? 'fault' : 'note', subject: 'leftover', path: relative(root, path), reason })
  }
  return findings
}

async function damagesOf(
  repo: Repo,
  stored: StoredRepository,
  signal: AbortSignal,
  isIntact: boolean,
): Promise<string[]> {
  const odd = isIntact ? undefined : await findOddEntry(repo.dir, false)
  if (odd !== undefined) return [odd]
  try {
    // A concurrent write may confuse git fsck, so only damage found twice counts.
    const damage = isIntact ? undefined : (await findDamage(repo, signal)) && (await findDamage(repo, signal))
    return damage === undefined ? await untruths(repo, stored) : [damage]
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof GitError) return [error.message]
    throw error
  }
}

/** Checks that an intact repository contains the identity that its path says. */
async function untruths(repo: Repo, stored: StoredRepository): Promise<string[]> {
  const oid = listRefs(repo, 'refs/').get(identityRef(stored))
  if (!oid) return [`${identityRef(stored)} is missing`]
  if (stored.nodeId === undefined) return untruthsOfOrg(repo, oid, stored.orgId)
  const { id, org_id } = await readNodeRecord(repo, oid)
  return id === stored.nodeId && org_id === stored.orgId ? [] : [`${ledgerRef} says that it is ${org_id}/${id}.git`]
}

async function untruthsOfOrg(repo: Repo, head: Oid, orgId: string): Promise<string[]> {
  const { org, damaged = [] } = await readRecord(repo, head)
  const types = await readTypes(repo, head, org.unknown_types === 'refuse')
  return [
    ...(org.id === orgId ? [] : [`org.json says that it is ${org.id}`]),
    ...damaged.map(({ path, reason }) => `${path} is damaged, so this user is not a member: ${reason}`),
    ...types.damaged.map(({ path, reason }) => `${path} is damaged, so the type has no rules: ${reason}`),
  ]
}
