/** What a crash or a hand on the server left: cleared at the start, and looked for in the background ever after. */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { recoverAll } from '../../gitstore/ref-transaction.ts'
import { unfinished } from '../../gitstore/repos.ts'
import { forgetLogs } from '../../index/derived/history.ts'
import type { Deps } from '../deps.ts'
import { isId, orgFolder } from './places.ts'
import { followAll } from './reindex.ts'

/** Milliseconds after which something half made cannot have a maker any more: twice the longest timeout of a git process. */
const abandoned = 20 * 60_000
/** Milliseconds between two looks at every repository. */
const interval = 60_000

/** An index without a single organisation is made before anything is served from it; any other is good enough to begin with. */
export async function catchUp(deps: Deps): Promise<void> {
  const known = await deps.index.read.selectFrom('org').select('id').limit(1).executeTakeFirst()
  if (!known) await followAll(deps)
}

/** Follows every repository and clears what is half made, again and again until `deps.draining`; the promise ends then. */
export async function sweep(deps: Deps): Promise<void> {
  while (!deps.draining.aborted) {
    await recoverAll(deps.store, (error) =>
      deps.log.error(
        { err: error },
        'a transaction of a dead process could not be finished; the next sweep tries again',
      ),
    )
      .then(() => removeUnfinished(deps))
      .then(() => followAll(deps))
      .then(() => forgetGone(deps))
      .catch((error: unknown) => deps.log.error({ err: error }, 'the sweep broke off; the next one tries again'))
    await sleep(interval, undefined, { signal: deps.draining, ref: false }).catch(() => {})
  }
}

/** The histories of nodes that are gone, a few rows at a time. */
async function forgetGone({ index, draining }: Deps): Promise<void> {
  while (!draining.aborted && !(await index.write(forgetLogs))) await nextTurn()
}

/** Folders of creations and merges that never came to their end. */
async function removeUnfinished(deps: Deps): Promise<void> {
  const { root } = deps.store
  const orgs = (await readdir(root)).filter(isId).map((org) => orgFolder(deps.store, org))
  for (const folder of [root, ...orgs]) {
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name)
      if (name.startsWith(unfinished)) await removeIfOld(path)
      else if (name.endsWith('.git')) await removeQuarantines(path)
    }
  }
}

async function removeQuarantines(repo: string): Promise<void> {
  for (const name of await readdir(repo).catch(() => []))
    if (name.startsWith('quarantine-')) await removeIfOld(join(repo, name))
}

async function removeIfOld(path: string): Promise<void> {
  const age = await stat(path).then(
    (found) => Date.now() - found.mtimeMs,
    () => 0,
  )
  if (age > abandoned) await rm(path, { recursive: true, force: true })
}
