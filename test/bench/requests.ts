/**
 * Measures pull requests in a long and in a short history: ahead, behind and can_merge, of one and of a list of 100.
 */

import { expecting } from '../support/node.ts'
import type { Histories } from './histories.ts'
import { git, interleave, measure, turns } from './measure.ts'
import type { Peers } from './peers.ts'
import type { Report } from './report.ts'
import { importForks } from './repositories.ts'
import type { BenchNode, Scene } from './scene.ts'

const forks = 100

export async function benchRequests(report: Report, _peers: Peers, histories: Histories): Promise<void> {
  const { scene, long, short } = histories
  await openRequests(scene, long)
  await openRequests(scene, short)
  const connection = scene.connect()
  const list = ({ at }: BenchNode) => connection.get(`${at}/pull-requests?limit=100`)
  const { pull_requests } = JSON.parse((await list(long)).body.toString())
  if (pull_requests.length !== forks) throw new Error(`${pull_requests.length} pull requests instead of ${forks}`)
  const one = ({ at }: BenchNode, number: number) => connection.get(`${at}/pull-requests/${number}`)
  const compare = ({ at }: BenchNode) => connection.get(`${at}/compare?base=main&head=fork-${forks - 1}`)
  const [longList, shortList] = await interleave(150, [
    ['Grove: list of 100, 100,000 commits', () => list(long)],
    ['Grove: list of 100, 100 commits', () => list(short)],
  ])
  const [nearest, farthest, brief, longCompare, shortCompare] = await interleave(150, [
    ['Grove: a pull request that forked at the newest of 100,000', () => one(long, 1)],
    ['Grove: a pull request 99,000 behind', () => one(long, forks)],
    ['Grove: a pull request, 100 commits', () => one(short, 1)],
    ['Grove: compare, 99,000 behind', () => compare(long)],
    ['Grove: compare, 100 commits', () => compare(short)],
  ])
  connection.close()
  const count = (fork: number) => git(long.repo, 'rev-list', '--left-right', '--count', `main...fork-${fork}`)
  const forkOf = turns(Array.from({ length: 5 }, (_, n) => 19 * n))
  const native = await measure('git rev-list --left-right --count, one of the 100', 5, () => count(forkOf()))
  if (!longList || !shortList || !nearest || !farthest || !brief || !longCompare || !shortCompare)
    throw new Error('Nothing was measured')
  const rows = [longList, shortList, nearest, farthest, brief, longCompare, shortCompare, native]
  report.rows('pull requests with ahead, behind and can_merge', 'ms', rows)
  const flat = { unit: 'ms', wanted: { atMost: 1.2 } }
  report.ratio({
    ...flat,
    what: 'list of 100 pull requests, 100,000 commits',
    grove: longList.p50,
    peer: 'Grove: 100 commits',
    of: shortList.p50,
  })
  report.ratio({
    ...flat,
    what: 'pull request that is 99,000 behind',
    grove: farthest.p50,
    peer: 'Grove: forked at the newest',
    of: nearest.p50,
  })
  report.ratio({
    ...flat,
    what: 'pull request, 100,000 commits',
    grove: nearest.p50,
    peer: 'Grove: 100 commits',
    of: brief.p50,
  })
  report.ratio({
    ...flat,
    what: 'compare, 99,000 behind',
    grove: longCompare.p50,
    peer: 'Grove: 100 commits',
    of: shortCompare.p50,
  })
  report.ratio({
    unit: 'ms',
    what: 'list of 100 pull requests',
    grove: longList.p50,
    peer: '100 x git rev-list',
    of: forks * native.p50,
  })
}

/**
 * Makes 100 branches of one commit each, at points from the newest to almost the oldest commit of main. Opens a pull
 * request for each.
 */
async function openRequests({ ann }: Scene, { at, repo }: BenchNode): Promise<void> {
  const oids = (await git(repo, 'rev-list', 'main')).split('\n')
  const from = (n: number) => oids[Math.floor((n * (oids.length - 1)) / forks)] ?? ''
  await importForks(
    repo,
    Array.from({ length: forks }, (_, n) => ({ branch: `fork-${n}`, from: from(n) })),
  )
  for (let n = 0; n < forks; n++) {
    await ann.post(`${at}/pull-requests`, { source_branch: `fork-${n}`, title: `Fork ${n}` }).then(expecting(201))
  }
}
