/** Measures pages of a history of 100,000 commits at both ends, next to Git and cgit. */

import { availableParallelism } from 'node:os'
import { type Histories, longHistory } from './histories.ts'
import { connectTo, requestsPerSecond } from './load.ts'
import { git, interleave } from './measure.ts'
import type { Peers } from './peers.ts'
import type { Report } from './report.ts'
import type { BenchNode, Scene } from './scene.ts'

const size = longHistory
const far = 99_900

export async function benchHistory(report: Report, peers: Peers, histories: Histories): Promise<void> {
  const { scene, long, short, followed, restarted } = histories
  report.rows('a branch of 100,000 commits, read for the first time', 'ms', [
    { what: 'after an import by git fast-import: the index catches up', p50: followed, p99: followed },
    { what: 'after a restart of the service', p50: restarted, p99: restarted },
  ])
  await times(report, scene, long, short)
  await rates(report, peers, scene, long)
}

function pageOf({ at }: BenchNode, offset: number): string {
  return `${at}/tree/main/commits?limit=50&offset=${offset}`
}

async function times(report: Report, scene: Scene, long: BenchNode, short: BenchNode): Promise<void> {
  const connection = scene.connect()
  const { body } = await connection.get(pageOf(long, far))
  const { total } = JSON.parse(body.toString())
  if (total !== size + 1) throw new Error(`${total} commits instead of ${size + 1}`)
  const [near, distant, brief] = await interleave(500, [
    ['Grove: a page at 0 of 100,000', () => connection.get(pageOf(long, 0))],
    ['Grove: a page at 99,900 of 100,000', () => connection.get(pageOf(long, far))],
    ['Grove: a page at 0 of 100', () => connection.get(pageOf(short, 0))],
  ])
  connection.close()
  const log = (offset: number) => async () => {
    await git(long.repo, 'log', '--format=%H%x00%an%x00%ae%x00%ct%x00%P%x00%B', '-50', `--skip=${offset}`, 'main')
    await git(long.repo, 'rev-list', '--count', 'main')
  }
  const [gitNear, gitFar] = await interleave(3, [
    ['git log -50 and rev-list --count', log(0)],
    ['git log -50 --skip=99900 and rev-list --count', log(far)],
  ])
  if (!near || !distant || !brief || !gitNear || !gitFar) throw new Error('Nothing was measured')
  report.rows('a page of history', 'ms', [near, distant, brief, gitNear, gitFar])
  const of = (what: string, grove: number, peer: string, theirs: number) => ({
    what,
    unit: 'ms',
    grove,
    peer,
    of: theirs,
  })
  report.ratio({
    ...of('page at 99,900 of 100,000', distant.p50, 'Grove: at 0', near.p50),
    wanted: { atMost: 1.2 },
  })
  report.ratio({
    ...of('page at 0 of 100,000', near.p50, 'Grove: at 0 of 100', brief.p50),
    wanted: { atMost: 1.2 },
  })
  report.ratio(of('page at 0 of 100,000', near.p50, 'git log, rev-list --count', gitNear.p50))
  report.ratio(of('page at 99,900', distant.p50, 'git log --skip, rev-list --count', gitFar.p50))
}

async function rates(report: Report, peers: Peers, scene: Scene, long: BenchNode): Promise<void> {
  await peers.show('history', long.repo)
  const { cgit } = peers
  for (const [offset, times] of [
    [0, 5],
    [far, 20],
  ] as const) {
    const grove = await requestsPerSecond(scene.grove.url, [pageOf(long, offset)], { headers: scene.headers })
    if (cgit !== undefined) await checkCgit(cgit, offset)
    const theirs = await requestsPerSecond(cgit, [`/history/log/?ofs=${offset}`], { seconds: 8 })
    report.ratio({
      what: `history page at ${offset.toLocaleString('en')}, ${Math.min(2, availableParallelism())} workers`,
      unit: '/s',
      grove,
      peer: 'cgit, nginx, fcgiwrap -c 2',
      of: theirs,
      wanted: { atLeast: times },
    })
  }
}

/** @throws Error if cgit shows another page than Grove */
async function checkCgit(cgit: string, offset: number): Promise<void> {
  const connection = connectTo(cgit)
  const { body } = await connection.get(`/history/log/?ofs=${offset}`)
  connection.close()
  for (const n of [size - 1 - offset, size - 50 - offset]) {
    if (!body.includes(`>commit ${n}<`)) throw new Error(`cgit does not show commit ${n} at ${offset}`)
  }
}
