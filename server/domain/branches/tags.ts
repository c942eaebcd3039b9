/** Plain and annotated tags, and the tips of the history that an audience sees. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { createSemaphore } from '../../../gitstore/concurrency/semaphore.ts'
import { readInfo, readObject } from '../../../gitstore/objects/objects.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import { branchRefs, main, pinRefs, tagRefs } from '../layout.ts'
import { type Page, pageOf, slice } from '../pagination.ts'
import type { Ctx } from '../services.ts'
import type { NodeAt, Path, Query } from '../targets.ts'
import { listVisibleRefs } from './visible-refs.ts'

/** The most tag objects in a chain; a longer chain leads to no commit. */
const chainLimit = 8
/** The most bytes of a tag object that is read. */
const tagLimitBytes = 1_048_576
/** Concurrent tag lookups in this process. */
const semaphore = createSemaphore({ running: 8 })
/** Tags of one request looked up between two turns of the event loop. */
const tagsPerTurn = 200

/** The commit of each tag object, by folder and id; null: no commit. It never changes. */
const peeled = createCache<{ readonly commit: Oid | null }>('tag_commits')

/** Lists tags by name. `commit_id` is the commit that a tag leads to; absent if it leads to another object. */
export async function listTags(ctx: Ctx, { path, query }: Path<NodeAt> & Query<Page>) {
  const access = await authorizeNode(ctx, path, 'public')
  const { repo } = access
  const refs = [...((await tagsOnMain(access)) ?? listRefs(repo, tagRefs))]
  const tags = await Promise.all(
    slice(refs, query).map(async ([ref, object_id]) => {
      const commit_id = await peel(repo, object_id)
      return { name: ref.slice(tagRefs.length), object_id, ...(commit_id ? { commit_id } : {}) }
    }),
  )
  return { tags, ...pageOf(query, refs.length) }
}

type TagAccess = Pick<NodeAccess, 'repo' | 'history' | 'role' | 'hidesTags'>

/** Returns the commit of a tag. Undefined if the caller sees none. */
export async function commitOfTag(access: TagAccess, name: string): Promise<Oid | undefined> {
  const oid = readRef(access.repo, tagRefs + name)
  if (oid === null || (access.hidesTags && !(await isOnMain(access, oid)))) return undefined
  return peel(access.repo, oid)
}

/**
 * Lists the tags whose commit `main` contains, by full name. Undefined if the caller sees all tags. Anonymous callers
 * would otherwise read by a tag what nobody has approved.
 */
export async function tagsOnMain(access: TagAccess): Promise<ReadonlyMap<string, Oid> | undefined> {
  if (!access.hidesTags) return undefined
  const seen = new Map<string, Oid>()
  const pace = createYielder()
  for (const [ref, oid] of listRefs(access.repo, tagRefs)) {
    if (await isOnMain(access, oid)) seen.set(ref, oid)
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
  }
  return seen
}

/** True if a head contains the commit of a tag, which never changes. */
const contained = createCache<boolean>('tags_on_main')

async function isOnMain({ repo, history }: TagAccess, oid: Oid): Promise<boolean> {
  const head = readRef(repo, main)
  if (head === null) return false
  const key = `${repo.dir}:${head}:${oid}`
  const known = contained.get(key)
  if (known !== undefined) return known
  const commit = await peel(repo, oid)
  const isContained = commit !== undefined && (await history.contains(head, commit))
  contained.set(key, isContained)
  return isContained
}

/**
 * The tips of all history that the role sees. They are the heads of visible branches and tags, and for members also the
 * pinned heads of closed pull requests.
 */
export async function visibleHeads(access: TagAccess): Promise<Oid[]> {
  const { repo, role } = access
  const refs = [...listVisibleRefs(repo, role === null ? 'public' : 'member', await tagsOnMain(access))]
  const oidsBelow = (place: string) => refs.filter(([ref]) => ref.startsWith(place)).map(([, oid]) => oid)
  const pins = role === null ? [] : listRefs(repo, pinRefs).values()
  const tagged = await peelAll(repo, oidsBelow(tagRefs))
  return [...new Set([...oidsBelow(branchRefs), ...tagged, ...pins].filter((oid) => oid !== undefined))]
}

async function peelAll(repo: Repo, oids: readonly Oid[]): Promise<(Oid | undefined)[]> {
  const commits: (Oid | undefined)[] = []
  for (let at = 0; at < oids.length; at += tagsPerTurn) {
    if (at > 0) await nextTurn()
    commits.push(...(await Promise.all(oids.slice(at, at + tagsPerTurn).map((oid) => peel(repo, oid)))))
  }
  return commits
}

/** The commit that a tag leads to. Reads only tag objects, so other objects may be of any size. */
async function peel(repo: Repo, oid: Oid): Promise<Oid | undefined> {
  const key = `${repo.dir}:${oid}`
  const known = peeled.get(key)
  if (known) return known.commit ?? undefined
  const commit = await semaphore.run({}, () => findTarget(repo, oid))
  peeled.set(key, { commit })
  return commit ?? undefined
}

async function findTarget(repo: Repo, oid: Oid): Promise<Oid | null> {
  let at = oid
  for (let depth = 0; depth < chainLimit; depth++) {
    const { type, size } = await readInfo(repo, at)
    if (type === 'commit') return at
    if (type !== 'tag' || size > tagLimitBytes) return null
    const { content } = await readObject(repo, at)
    const target = /^object ([0-9a-f]{40})\n/.exec(content.toString('latin1', 0, 48))?.[1]
    if (!target) return null
    at = target
  }
  return null
}
