/** The batch operations of REST: up to 1,000 nodes that are created, or brought to a state, together. */
import type { Deps } from '../../base/deps.ts'
import { Invalid } from '../../base/errors.ts'
import { orgFor } from '../access.ts'
import { type Asker, callerOf, type Person } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { batchNodes, type SentNode } from './batch-input.ts'
import type { BatchOptions, BatchOutcome } from './batch-node.ts'
import { locateIn, wordsIn } from './batch-problems.ts'
import { writeBatch } from './batches.ts'

/** A batch holds its body several times in memory: 16 MiB as text, as JSON, as bytes and as packs. */
const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 8 },
  person: { running: 1, waiting: 2 },
  waitTimeoutMs: 30_000,
  refusal: 'Other batches are being written just now; try again',
})

/** Parents, connections and files of all items: each is an object and a row, and what is read of the graph grows with them. */
const maxEntries = 20_000

interface Batch {
  readonly nodes: readonly SentNode[]
}

/** What became of an item, with what the batch called it. */
interface Written extends Pick<BatchOutcome, 'id' | 'head'> {
  readonly ref?: string
}

/**
 * Creates all or none. @throws Refusal as writeBatch, busy; Invalid, its problems located below `["body", "nodes", position]`
 */
export async function createNodes(
  deps: Deps,
  asker: Asker<Person>,
  at: OrgAt,
  batch: Batch,
): Promise<{ nodes: Written[] }> {
  const outcomes = await write(deps, asker, at, batch, 'refuse')
  return { nodes: outcomes.map(({ status, ...created }) => created) }
}

/** Creates those that are not there, changes those that are: one commit each where something differs. @throws as createNodes */
export async function putNodes(deps: Deps, asker: Asker<Person>, at: OrgAt, batch: Batch) {
  return { nodes: await write(deps, asker, at, batch, 'update') }
}

async function write(
  deps: Deps,
  asker: Asker<Person>,
  at: OrgAt,
  { nodes: sent }: Batch,
  existing: BatchOptions['existing'],
): Promise<(BatchOutcome & { ref?: string })[]> {
  const { actor, signal } = asker
  await orgFor(deps, actor, at, 'editor')
  refuseMany(sent)
  if (existing === 'update') refuseNameless(sent)
  return semaphore.run({ caller: callerOf(asker), signal }, async () => {
    const nodes = await batchNodes(sent)
    const options = { existing, locate: locateIn(sent, nodes) }
    const outcomes = await writeBatch(deps, actor, at, nodes, options).catch((error: unknown) => {
      throw error instanceof Invalid ? new Invalid(error.problems.map(wordsIn(sent, nodes))) : error
    })
    return outcomes.map((outcome, position) => {
      const ref = sent[position]?.ref
      return { ...outcome, ...(ref === undefined ? {} : { ref }) }
    })
  })
}

/** @throws Invalid too_long */
function refuseMany(sent: readonly SentNode[]): void {
  let entries = 0
  for (const { parents = [], connections = [], files = [] } of sent)
    entries += parents.length + connections.length + files.length
  if (entries <= maxEntries) return
  const msg = `A batch has at most 20,000 parents, connections and files in all, and this one has ${entries}; send its nodes in several batches`
  throw new Invalid([{ loc: ['body', 'nodes'], msg, type: 'too_long', ctx: { max_length: maxEntries } }])
}

/** An item without id and ref would create another node each time the batch is repeated. @throws Invalid */
function refuseNameless(sent: readonly SentNode[]): void {
  const msg = 'Send the id of the node, or a ref for a new one'
  const nameless = sent.flatMap(({ id, ref }, at) => (id === undefined && ref === undefined ? [at] : []))
  if (nameless.length === 0) return
  throw new Invalid(
    nameless.slice(0, 100).map((at) => ({ loc: ['body', 'nodes', at, 'id'], msg, type: 'missing' as const })),
  )
}
