/** Clients of a storm propose several pages together, and merge or close them. What git reads of sets is whole. */

import { randomUUID } from 'node:crypto'
import { readSets } from '../support/sets-reader.ts'
import { type Actor, ask, askTwice, pick } from './actor.ts'
import { newOwnNode, type OwnNode, type World } from './world.ts'

/** A client has this many nodes at most before it proposes no new ones. */
const ownAtMost = 8

/** A set of new nodes, the change of one and the deletion of another, of those that this client has. */
export async function proposeSet(actor: Actor): Promise<void> {
  const { world, person, random, nodes } = actor
  const own = nodes.filter(({ deleted, unsure }) => deleted === 'no' && !unsure)
  const count = own.length > ownAtMost ? 0 : 1 + Math.floor(random() * 6)
  const fresh = Array.from({ length: count }, () => newOwnNode(world))
  const changed = pick(own, random)
  const gone = pick(
    own.filter((node) => node !== changed),
    random,
  )
  const body = {
    id: randomUUID(),
    title: `Set ${world.next()}`,
    nodes: [
      ...fresh.map(({ id }, at) => ({
        ...{ id, title: `Node ${world.next()}`, text_content: 'Whales sing' },
        parents: at === 0 ? [] : [fresh[at - 1]?.id],
      })),
      ...(changed ? [{ id: changed.id, tags: [`tag-${world.next()}`] }] : []),
    ],
    deletions: gone ? [{ node_id: gone.id }] : [],
  }
  const sets = `/orgs/${world.org}/change-sets`
  // Without an answer, the set may be open. Then its pages are in no other set, and nobody merges it.
  const opened = await ask(actor, 'open a set', [201, 404, 409], () => person().post(sets, body))
  if (opened.answer?.status !== 201) return
  const at = `${sets}/${opened.answer.body.change_set.number}`
  if (random() < 0.2) await ask(actor, 'close a set', [200], () => person().patch(at, { status: 'closed' }))
  else await mergeSet(actor, at, fresh, gone)
}

/** Merges the set. All of it is there afterwards, or nothing is. */
async function mergeSet(actor: Actor, at: string, fresh: readonly OwnNode[], gone: OwnNode | undefined): Promise<void> {
  const { world, person, nodes } = actor
  nodes.push(...fresh)
  world.nodes.push(...fresh)
  if (gone) gone.deleted = 'asked'
  const merge = () => person().post(`${at}/merge`, {})
  const { answer, unknown } = await askTwice(actor, 'merge a set', [200, 404, 409], merge)
  if (unknown) return
  const isMerged = answer?.status === 200
  for (const node of fresh) Object.assign(node, { unsure: false, deleted: isMerged ? 'no' : 'done' })
  if (gone) gone.deleted = isMerged ? 'done' : 'no'
}

/** By native Git, each merged set has moved all of its pages, and no other set has moved any. Nothing is in flight. */
export function judgeSets({ dataDir, org, problems }: World): void {
  const { sets, broken } = readSets({ dataDir }, org)
  problems.push(...broken)
  const count = (status: string) => sets.filter((set) => set.status === status).length
  console.log(`sets: ${count('merged')} merged, ${count('closed')} closed, ${count('open')} open`)
}
