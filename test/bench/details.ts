/** Measures one commit and its changes, anywhere in a history of 100,000, next to git diff-tree and cgit. */

import type { Histories } from './histories.ts'
import { requestsPerSecond } from './load.ts'
import { git, interleave, turns } from './measure.ts'
import type { Peers } from './peers.ts'
import type { Report } from './report.ts'
import type { BenchNode } from './scene.ts'

export async function benchDetails(report: Report, peers: Peers, { scene, long, short }: Histories): Promise<void> {
  const oids = (await git(long.repo, 'rev-list', 'main')).split('\n')
  const near = turns(oids.slice(0, 100))
  const far = turns(oids.slice(-101, -1))
  const few = turns((await git(short.repo, 'rev-list', 'main')).split('\n').slice(0, 100))
  const connection = scene.connect()
  const read = (node: BenchNode, next: () => string) => () => connection.get(commitAt(node, next()))
  const [newest, oldest, brief] = await interleave(500, [
    ['Grove: one of the newest 100 of 100,000', read(long, near)],
    ['Grove: one of the oldest 100 of 100,000', read(long, far)],
    ['Grove: one of 100', read(short, few)],
  ])
  connection.close()
  const [diff, contained] = await interleave(10, [
    ['git diff-tree -p', () => git(long.repo, 'diff-tree', '-p', '--root', far())],
    ['git merge-base --is-ancestor', () => git(long.repo, 'merge-base', '--is-ancestor', far(), 'main')],
  ])
  if (!newest || !oldest || !brief || !diff || !contained) throw new Error('Nothing was measured')
  report.rows('one commit of a branch: containment, its changes and their lines', 'ms', [
    newest,
    oldest,
    brief,
    diff,
    contained,
  ])
  const ms = { unit: 'ms', grove: oldest.p50 }
  report.ratio({
    ...ms,
    what: 'commit of the oldest 100',
    peer: 'Grove: newest 100',
    of: newest.p50,
    wanted: { atMost: 1.2 },
  })
  report.ratio({ ...ms, what: 'commit of 100,000', peer: 'Grove: of 100', of: brief.p50, wanted: { atMost: 1.2 } })
  report.ratio({
    ...ms,
    what: 'commit, its changes, containment',
    peer: 'git diff-tree, merge-base',
    of: diff.p50 + contained.p50,
  })
  await peers.show('details', long.repo)
  const ids = oids.filter((_, at) => at % 100 === 0)
  const paths = ids.map((oid) => commitAt(long, oid))
  const theirs = ids.map((oid) => `/details/commit/?id=${oid}`)
  report.ratio({
    what: 'commit details, 1,000 commits in turn',
    unit: '/s',
    grove: await requestsPerSecond(scene.grove.url, paths, { headers: scene.headers }),
    peer: 'cgit, nginx, fcgiwrap -c 2',
    of: await requestsPerSecond(peers.cgit, theirs),
  })
}

function commitAt({ at }: BenchNode, oid: string): string {
  return `${at}/tree/main/commits/${oid}`
}
