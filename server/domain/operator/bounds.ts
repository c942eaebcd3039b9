/** Chooses the repositories of a bounded check, and indexes only these. */
import { join } from 'node:path'
import { listUnmoved } from '../../../index/derived/change-log.ts'
import { indexMoved, indexMovedOrg, type Reindexed, type UnreadableRepository } from '../indexing/reindex.ts'
import type { StoredRepository } from '../indexing/stored-repositories.ts'
import { readUnknown, writeUnknown } from '../indexing/unknown-nodes.ts'
import { indexFile } from '../layout.ts'
import type { Services } from '../services.ts'
import { pathOfMoved } from './mirror-checks.ts'

/** With both, the changed repositories and a share of the others are checked. With neither, all are. */
export interface Bounds {
  /** Milliseconds since 1970. Chooses repositories whose refs may have moved since. */
  readonly sinceMs: number | undefined
  /** A share of the repositories in percent. */
  readonly sample: number | undefined
}

/** Nodes that are indexed at a time. */
const batch = 100

/** Returns undefined without bounds. A repository that the index has no time of is taken to have changed. */
export function chooseRepositories(
  root: string,
  all: readonly StoredRepository[],
  { sinceMs, sample }: Bounds,
): readonly StoredRepository[] | undefined {
  if (sinceMs === undefined && sample === undefined) return undefined
  const unmoved = new Set(sinceMs === undefined ? all.map(({ path }) => path) : unmovedPaths(root, sinceMs))
  const changed = all.filter(({ path }) => !unmoved.has(path))
  const others = all.filter(({ path }) => unmoved.has(path))
  return [...changed, ...drawShare(others, sample ?? 0)]
}

/** Draws a share of the list at random. Each call draws others. */
export function drawShare<T>(all: readonly T[], percent: number): T[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, Math.ceil((all.length * percent) / 100))
    .map(({ one }) => one)
}

/** Returns nothing if the index cannot be read, which is another finding. */
function unmovedPaths(root: string, sinceMs: number): string[] {
  try {
    return listUnmoved(join(root, indexFile), sinceMs).map(pathOfMoved)
  } catch {
    return []
  }
}

/** Indexes the repositories and their organisations. The index is empty. */
export async function indexSome(
  deps: Services,
  some: readonly StoredRepository[],
  onProgress: (done: number, total: number) => void,
): Promise<Reindexed> {
  const failed: UnreadableRepository[] = []
  const nodesOf = new Map<string, string[]>()
  for (const { orgId, nodeId } of some) {
    const nodes = nodesOf.get(orgId) ?? []
    nodesOf.set(orgId, nodes)
    if (nodeId !== undefined) nodes.push(nodeId)
  }
  const total = some.filter(({ nodeId }) => nodeId !== undefined).length
  let done = 0
  for (const [orgId, nodes] of nodesOf) {
    const isEntered = await indexMovedOrg(deps, orgId, failed)
    for (let at = 0; isEntered && at < nodes.length && !deps.draining.aborted; at += batch) {
      const next = nodes.slice(at, at + batch)
      const written = await writeUnknown(deps, orgId, await readUnknown(deps, orgId, next))
      await indexMoved(
        deps,
        orgId,
        next.filter((id) => !written.has(id)),
        failed,
      )
      done += next.length
      onProgress(done, total)
    }
  }
  return { orgs: nodesOf.size, nodes: total, failed }
}
