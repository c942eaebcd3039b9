/** The thread that reads repositories while the index is rebuilt. It writes nothing. */
import { join } from 'node:path'
import type { Store } from '../../../gitstore/store.ts'
import { openReader } from '../../../index/derived/reader.ts'
import type { IndexSchema } from '../../../index/derived/schema.ts'
import type { LogSchema } from '../../../index/log/schema.ts'
import { eventsFile, indexFile } from '../layout.ts'
import { serveCalls } from '../worker-client.ts'
import type { ReadCalls, ReadOrder } from './read-thread.ts'
import { readUnknown } from './unknown-nodes.ts'

serveCalls<ReadCalls>({ read })

/** Opens the databases for each order, because they may be replaced. */
async function read({ root, databases, orgId, nodeIds }: ReadOrder) {
  const index = await openReader<IndexSchema>(join(databases, indexFile))
  const events = await openReader<LogSchema>(join(databases, eventsFile))
  try {
    const deps = { store: readOnlyStore(root), index, events, now: () => new Date(), log: { error: () => {} } }
    return await readUnknown(deps, orgId, nodeIds)
  } finally {
    await Promise.all([index.close(), events.close()])
  }
}

/** A store that can neither lock nor recover. The process indexes the nodes that need it. */
function readOnlyStore(root: string): Store {
  const refuse = () => {
    throw new Error('This thread only reads')
  }
  return {
    root,
    get run(): string {
      return refuse()
    },
    process: '',
    claimDeadProcess: refuse,
    onRecovered: refuse,
    indexRepo: refuse,
    onReadOnly: refuse,
  }
}
