/**
 * Pushes a history of 16,000 commits with 4,000 merges in steps. Measures the pushes, and checks that the order is that
 * of `git log`.
 */

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git, rowOf, timeOf } from './measure.ts'
import type { Report } from './report.ts'
import { importMerges } from './repositories.ts'
import { type BenchNode, openScene, type Scene } from './scene.ts'

const merges = 4_000
/** Merges of one push. */
const step = 100
/** Pushes of one merge each, at the end. */
const single = 30

export async function benchPushes(report: Report): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-bench-'))
  const [source, plain] = [join(folder, 'source.git'), join(folder, 'plain.git')]
  for (const repo of [source, plain]) execFileSync('git', ['init', '-q', '--bare', '-b', 'main', repo])
  const scene = await openScene(2)
  try {
    await importMerges(source, merges)
    const mainline = (await git(source, 'rev-list', '--first-parent', '--reverse', 'main')).split('\n')
    // Each merge has one commit of main before it.
    const mergeAt = (n: number) => mainline[2 * n - 1] ?? ''
    const node = await scene.node({ initialize: false })
    const connection = scene.connect()
    const follow: number[][] = [[], []]
    const native: number[][] = [[], []]
    let checked = 0
    for (let done = 0; done < merges; ) {
      const kind = merges - done > single ? 0 : 1
      done = kind === 0 ? Math.min(done + step, merges - single) : done + 1
      const head = mergeAt(done)
      native[kind]?.push(await timeOf(() => push(source, plain, head)))
      await push(source, node.repo, head)
      const read = async () => {
        const { body } = await connection.get(`${node.at}/tree/main/commits?limit=50&offset=0`)
        const { total } = JSON.parse(body.toString())
        if (total !== 4 * done) throw new Error(`${total} commits instead of ${4 * done}`)
      }
      follow[kind]?.push(await timeOf(read))
      if (done % 1_000 === 0 || done === merges) checked += await checkOrder(scene, node)
    }
    connection.close()
    report.rows('16,000 commits with 4,000 merges, pushed by path', 'ms', [
      rowOf(`first read after a push of ${4 * step} commits, ${step} merges`, follow[0] ?? []),
      rowOf('first read after a push of 4 commits, 1 merge', follow[1] ?? []),
      rowOf(`git push of ${4 * step} commits itself`, native[0] ?? []),
      rowOf('git push of 4 commits itself', native[1] ?? []),
    ])
    report.say(`\nThe order of ${checked.toLocaleString('en')} commits, read page by page in between, was git log's.`)
    for (const [kind, commits] of [4 * step, 4].entries()) {
      report.ratio({
        what: `following a push of ${commits} commits`,
        unit: 'ms',
        grove: rowOf('', follow[kind] ?? []).p50,
        peer: 'git push itself',
        of: rowOf('', native[kind] ?? []).p50,
      })
    }
  } finally {
    await scene.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function push(from: string, to: string, oid: string): Promise<void> {
  await git(from, 'push', '-q', to, `${oid}:refs/heads/main`)
}

/** Returns how many commits were compared. @throws Error if one is not where `git log` has it */
async function checkOrder({ ann }: Scene, { at, repo }: BenchNode): Promise<number> {
  const wanted = (await git(repo, 'log', '--format=%H', 'main')).split('\n')
  for (let offset = 0; offset < wanted.length; offset += 200) {
    const { body } = await ann.get(`${at}/tree/main/commits?limit=200&offset=${offset}`)
    const ids = body.history.map(({ id }: { id: string }) => id)
    const expected = wanted.slice(offset, offset + 200)
    if (ids.join() !== expected.join()) throw new Error(`After offset ${offset} the order is not that of git log`)
  }
  return wanted.length
}
