/** Commits, merges and reads while git packs and collects from outside, and Grove's own maintenance packs too. */

import { readdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { maintain } from '../gitstore/upkeep/maintenance.ts'
import { expectSound, git, gitDid, gitLines, newDataDir } from './support/data-folder.ts'
import { faultsIn } from './support/log.ts'
import { newNode, type TestNode } from './support/node.ts'
import { type Answer, type PersonClient, signUp } from './support/people.ts'
import { spawnGrove } from './support/spawned-grove.ts'

export interface Storm {
  readonly commits: number
  readonly merges: number
  readonly reads: number
  /** Times that each git command, and Grove's maintenance, came to its end; how often it failed. */
  readonly packing: ReadonlyMap<string, { done: number; failed: number }>
  /** Writes that were answered with 503 `busy`, and made again. */
  readonly busy: number
  readonly failedReads: readonly string[]
  readonly failedWrites: readonly string[]
  readonly staleHeads: readonly string[]
  readonly lost: readonly string[]
  /** The errors in the service's log. */
  readonly errors: readonly string[]
}

const fromOutside = [
  ['gc', '--quiet'],
  ['repack', '-adq'],
  ['pack-refs', '--all', '--prune'],
] as const

/**
 * Of two workers over a folder of their own, while `lasts`, which is told how often each has come to its end: merges, each git
 * command, and Grove's maintenance. @throws Error where a repository is not sound at the end
 */
export async function gcStorm(
  lasts: (turns: number) => boolean,
  progress: (done: string) => void = () => {},
): Promise<Storm> {
  const dataDir = await newDataDir()
  const grove = await spawnGrove(dataDir, { WORKERS: '2' })
  try {
    const ann = await signUp(grove, 'Ann')
    const nodes = [await newNode(grove, ann), await newNode(grove, ann)]
    const { acknowledged, ...storm } = await rage(ann, nodes, lasts, progress)
    const lost = (await Promise.all(nodes.map((node) => lostIn(node, acknowledged)))).flat()
    await expectSound(dataDir)
    await grove.stop()
    return { ...storm, lost, errors: faultsIn(grove.output().stderr) }
  } finally {
    await grove.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

interface Acknowledged {
  readonly node: TestNode
  readonly branch: string
  readonly oid: string
}

async function rage(
  ann: PersonClient,
  nodes: readonly TestNode[],
  lasts: (turns: number) => boolean,
  progress: (done: string) => void,
) {
  const acknowledged: Acknowledged[] = []
  const packing = new Map<string, { done: number; failed: number }>()
  const failedReads: string[] = []
  const failedWrites: string[] = []
  const staleHeads: string[] = []
  let [commits, merges, reads, busy] = [0, 0, 0, 0]
  const packers = [...fromOutside.map((args) => `git ${args.join(' ')}`), 'maintenance']
  // A service that refuses all would never come to the end.
  const goesOn = () =>
    failedWrites.length < 100 && lasts(Math.min(merges, ...packers.map((what) => packing.get(what)?.done ?? 0)))

  const read = async (path: string): Promise<Answer['body']> => {
    const { status, body } = await ann.get(path)
    reads++
    if (status !== 200) failedReads.push(`GET ${path}: ${status} ${JSON.stringify(body)}`)
    return status === 200 ? body : undefined
  }
  /** Again while others hold the lock. */
  const write = async (send: () => Promise<Answer>, wanted: number): Promise<Answer['body']> => {
    for (;;) {
      const { status, body } = await send()
      if (status === wanted) return body
      if (status === 503 && body.code === 'busy') busy++
      else {
        failedWrites.push(`${status} ${JSON.stringify(body)}`)
        return undefined
      }
    }
  }
  const expectHead = (what: string, found: unknown, wanted: string) => {
    if (found !== wanted) staleHeads.push(`${what}: ${found} instead of ${wanted}`)
  }
  /** Commits to a branch that no other client writes to; the head that was acknowledged. */
  const commit = async (node: TestNode, branch: string, path: string): Promise<string | undefined> => {
    const content = `${branch} ${commits++}\n`
    const tree = `${node.at}/tree/${branch}`
    const changes = [{ action: 'put', path, content }]
    const body = await write(() => ann.hasty.post(`${tree}/commits`, { message: 'A change', changes }), 201)
    if (!body) return undefined
    acknowledged.push({ node, branch, oid: body.id })
    expectHead('branch', (await read(`${node.at}/branches/${branch}`))?.head, body.id)
    expectHead('history', (await read(`${tree}/commits?limit=5`))?.history[0]?.id, body.id)
    expectHead('content', (await read(`${tree}/files/${path}`))?.content, content)
    return body.id
  }
  const committing = async (node: TestNode, name: string) => {
    await write(() => ann.hasty.post(`${node.at}/branches`, { name }), 201)
    while (goesOn()) await commit(node, name, `${name}.txt`)
  }
  /** A branch, a commit, a request, its merge; the branch goes, so that there is something to collect. */
  const merging = async (node: TestNode) => {
    for (let n = 0; goesOn(); n++) {
      const name = `topic-${n}`
      await write(() => ann.hasty.post(`${node.at}/branches`, { name }), 201)
      const head = await commit(node, name, `${name}.txt`)
      const request = { source_branch: name, title: name }
      const opened = await write(() => ann.hasty.post(`${node.at}/pull-requests`, request), 201)
      if (!opened || !head) continue
      if (n % 4 === 3)
        await write(() => ann.hasty.patch(`${node.at}/pull-requests/${opened.pr.number}`, { status: 'closed' }), 200)
      else {
        const merged = await write(() => ann.hasty.post(`${node.at}/pull-requests/${opened.pr.number}/merge`, {}), 200)
        if (!merged) continue
        merges++
        acknowledged.push({ node, branch: 'main', oid: head })
        await read(`${node.at}/tree/main/commits/${head}`)
        expectHead('main', (await read(`${node.at}/branches/main`))?.head, head)
      }
      await write(() => ann.hasty.delete(`${node.at}/branches/${name}`), 204)
      forget(acknowledged, name)
    }
  }
  const reading = async (node: TestNode) => {
    while (goesOn()) {
      await read(node.at)
      const list = await read(`${node.at}/tree/main?limit=200`)
      for (const { entity_key, object_id } of (list?.entities ?? []).slice(-5)) {
        await read(`${node.at}/tree/main/files/${entity_key}`)
        await read(`${node.at}/objects/${object_id}`)
      }
      const page = await read(`${node.at}/tree/main/commits?limit=50`)
      for (const { id } of (page?.history ?? []).slice(-5)) {
        await read(`${node.at}/tree/main/commits/${id}`)
        await read(`${node.at}/compare?base=${id}&head=main`)
      }
      await read(`${node.at}/branches`)
      await read(`${node.at}/pull-requests?status=all`)
    }
  }
  const count = (what: string, did: boolean) => {
    const known = packing.get(what) ?? { done: 0, failed: 0 }
    packing.set(what, { done: known.done + (did ? 1 : 0), failed: known.failed + (did ? 0 : 1) })
  }
  const packingFromOutside = async () => {
    for (let n = 0; goesOn(); n++) {
      const args = fromOutside[n % fromOutside.length] ?? []
      for (const node of nodes) count(`git ${args.join(' ')}`, await gitDid(node.git.dir, ...args))
    }
  }
  const maintaining = async () => {
    const all = { objects: true, packs: true, refs: true, graph: true }
    while (goesOn())
      for (const node of nodes) {
        await age(node.git.dir)
        const done = maintain({ dir: node.git.dir }, all, new AbortController().signal)
        count(
          'maintenance',
          await done.then(
            () => true,
            () => false,
          ),
        )
      }
  }
  const telling = setInterval(() => progress(`${commits} commits, ${merges} merges, ${reads} reads`), 10_000)
  try {
    const all = nodes.flatMap((node, n) => [committing(node, `work-${n}`), merging(node), reading(node)])
    await Promise.all([...all, packingFromOutside(), maintaining()])
  } finally {
    clearInterval(telling)
  }
  return { commits, merges, reads, packing, busy, failedReads, failedWrites, staleHeads, acknowledged }
}

/** Forgets the commits of a deleted branch, which need not be anywhere. */
function forget(acknowledged: Acknowledged[], branch: string): void {
  const kept = acknowledged.filter((one) => one.branch !== branch)
  acknowledged.splice(0, acknowledged.length, ...kept)
}

async function lostIn(node: TestNode, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const mine = acknowledged.filter((one) => one.node === node)
  const lost: string[] = []
  for (const branch of new Set(mine.map((one) => one.branch))) {
    const there = new Set(await gitLines(node.git.dir, 'rev-list', branch))
    for (const { oid } of mine.filter((one) => one.branch === branch))
      if (!there.has(oid)) lost.push(`${oid} is not in ${branch}`)
  }
  return lost
}

/** Makes older than what maintenance leaves alone what no git will drop: it is reached by refs that stay. */
async function age(repo: string): Promise<void> {
  const args = ['rev-list', '--objects', 'main', '--glob=heads/work-*', 'refs/grove/ledger']
  // Git rereads the list of packs once, and misses an object that two repacks move meanwhile. Losses are judged at the end.
  const said = await git(repo, ...args).catch(() => '')
  const reached = new Set(said.split('\n').map((line) => line.slice(0, 40)))
  const then = new Date(Date.now() - 2 * 60 * 60_000)
  for (const fanOut of await readdir(join(repo, 'objects'))) {
    if (!/^[0-9a-f]{2}$/.test(fanOut)) continue
    for (const name of await readdir(join(repo, 'objects', fanOut)).catch(() => []))
      if (reached.has(fanOut + name)) await utimes(join(repo, 'objects', fanOut, name), then, then).catch(() => {})
  }
}
