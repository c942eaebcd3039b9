/**
 * What a fetch asks for. Protocol v2 serves any object by its id, shown or not ("hideRefs is not secrecy", reliability.md §1):
 * where something is to stay hidden, each want must be reachable from what is shown.
 */

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { GitError } from './errors.ts'
import { killGroup, spawnGit } from './native.ts'
import { pktAt } from './pkt-line.ts'
import { isOid, type Oid, type Repo } from './repo.ts'

/** Milliseconds for the walk over everything that is shown, which only what no ref points at needs. */
const patience = 60_000

/** The ids after `want` in the body of a request of protocol v2. @throws GitError native_failed: not pkt-lines */
export function wantsOf(body: Buffer): Oid[] {
  const wants: Oid[] = []
  for (let found = pktAt(body, 0); found !== undefined; found = pktAt(body, found.next)) {
    const oid = typeof found.pkt === 'string' ? undefined : /^want ([0-9a-f]{40})\b/.exec(found.pkt.toString())?.[1]
    if (oid !== undefined && isOid(oid)) wants.push(oid)
  }
  return wants
}

/** Whether each of `oids`, objects of any type, can be reached from `tips`. @throws GitError native_failed, also after a minute */
export async function allReachable(repo: Repo, tips: readonly Oid[], oids: readonly Oid[]): Promise<boolean> {
  const missing = new Set(oids)
  for (const tip of tips) missing.delete(tip)
  if (missing.size === 0 || tips.length === 0) return missing.size === 0
  const child = spawnGit(repo, ['rev-list', '--objects', '--no-object-names', '--stdin'])
  const closed = once(child, 'close')
  const timer = setTimeout(() => killGroup(child), patience)
  child.stdin.end(tips.map((tip) => `${tip}\n`).join(''))
  child.stderr.resume()
  try {
    for await (const oid of createInterface({ input: child.stdout })) {
      if (missing.delete(oid) && missing.size === 0) return true
    }
    const [code] = await closed
    if (code !== 0) throw new GitError('native_failed', 'git rev-list failed', { code })
    return false
  } finally {
    clearTimeout(timer)
    killGroup(child)
  }
}
