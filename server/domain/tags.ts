/** Tags, plain and annotated, and the tips that each audience may see. */
import { findCommit } from '../../gitstore/commits.ts'
import { readObject } from '../../gitstore/objects.ts'
import { listRefs, readRef } from '../../gitstore/refs.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import type { Deps } from '../deps.ts'
import { nodeFor } from './access.ts'
import type { Actor } from './actor.ts'
import { type Page, pageOf, slice } from './pages.ts'
import { main } from './places.ts'

/** How many tag objects may point at one another before the chain counts as none. */
const chainLimit = 8

/** By name; `commit_id` is what an annotated tag points at in the end, absent where that is no commit. */
export async function listTags(deps: Deps, actor: Actor, orgId: string, nodeId: string, page: Page) {
  const { repo } = await nodeFor(deps, actor, orgId, nodeId, 'public')
  const refs = [...listRefs(repo, 'refs/tags/')]
  const tags = await Promise.all(
    slice(refs, page).map(async ([ref, object_id]) => {
      const commit_id = await peel(repo, object_id)
      return { name: ref.slice('refs/tags/'.length), object_id, ...(commit_id ? { commit_id } : {}) }
    }),
  )
  return { tags, ...pageOf(page, refs.length) }
}

export async function commitOfTag(repo: Repo, name: string): Promise<Oid | undefined> {
  const oid = readRef(repo, `refs/tags/${name}`)
  return oid ? peel(repo, oid) : undefined
}

/** The tips that reach what may be seen: main and tags for the public, all branches and closed requests for members. */
export async function visibleHeads(repo: Repo, asMember: boolean): Promise<Oid[]> {
  const branches = asMember ? [...listRefs(repo, 'refs/heads/').values()] : [readRef(repo, main)]
  const tags = await Promise.all([...listRefs(repo, 'refs/tags/').values()].map((oid) => peel(repo, oid)))
  const pins = asMember ? listRefs(repo, 'refs/grove/pulls/').values() : []
  return [...new Set([...branches, ...tags, ...pins].filter((oid): oid is Oid => typeof oid === 'string'))]
}

async function peel(repo: Repo, oid: Oid): Promise<Oid | undefined> {
  let at = oid
  for (let depth = 0; depth < chainLimit; depth++) {
    if (await findCommit(repo, at)) return at
    const { type, content } = await readObject(repo, at)
    const target = type === 'tag' ? /^object ([0-9a-f]{40})$/m.exec(content.toString('latin1'))?.[1] : undefined
    if (!target) return undefined
    at = target
  }
  return undefined
}
