/** Measures pull requests into branches with rules, next to the same ones of an organisation without rules in one run. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import type { Connection } from './load.ts'
import { interleave, timeOf, type Work } from './measure.ts'
import { computing } from './processes.ts'
import type { Report, Row } from './report.ts'
import { approvalsOf, commentsOn, importEntries, makeTalkers, openForks, type Talker } from './review-data.ts'
import { benchRebased } from './reviews.ts'
import { type BenchNode, openScene, type Scene } from './scene.ts'

/** Each approval of a member counts for both. */
const rules = [
  { branches: ['main', 'line/**'], approvals: 2 },
  { branches: ['m*', 'line/*'], approvals: 1, by: { role: 'editor' }, resolved: false, merge: 'editor' },
]

/** Nodes of an organisation. */
interface Place {
  readonly org: string
  node(): Promise<BenchNode>
}

interface Stage {
  readonly report: Report
  readonly scene: Scene
  readonly connection: Connection
  readonly members: readonly Talker[]
  readonly free: Place
  readonly ruled: Place
}

export async function benchRules(report: Report): Promise<void> {
  const scene = await openScene(1)
  const connection = scene.connect()
  try {
    const { ann } = scene
    const ruled = (await ann.post('/orgs', { name: 'With rules' }).then(expecting(201))).body.id
    const members: Talker[] = []
    for (const name of ['Bo', 'Cy', 'Di', 'Ed', 'Flo']) {
      const { user } = await signUp(scene.grove, name)
      members.push({ id: user.id, name, email: user.email })
      for (const org of [ann.org, ruled])
        await ann.put(`/orgs/${org}/members/${user.email}`, { role: 'editor' }).then(expecting(200))
    }
    await ann.patch(`/orgs/${ruled}`, { rules }).then(expecting(200))
    const placeIn = (org: string): Place => ({
      org,
      node: async () => {
        const { id } = (await ann.post(`/orgs/${org}/nodes`, { title: 'History' }).then(expecting(201))).body
        return { id, at: `/orgs/${org}/nodes/${id}`, repo: join(scene.dataDir, org, `${id}.git`) }
      },
    })
    const stage = { report, scene, connection, members, free: placeIn(ann.org), ruled: placeIn(ruled) }
    await benchOne(stage)
    await benchList(stage)
    await benchPush(stage)
  } finally {
    connection.close()
    await scene.close()
  }
}

/** Compares a proposal under two rules with one without verdicts and rules. */
async function benchOne({ report, scene, connection, members, free, ruled }: Stage): Promise<void> {
  const [plain, node] = [await free.node(), await ruled.node()]
  const works: [string, Work][] = []
  for (const [what, { at, repo }] of [
    ['without rules', plain],
    ['with two rules', node],
  ] as const) {
    const [, judged] = await openForks(scene, { id: '', at, repo }, 2)
    if (!judged) throw new Error('There are no proposals')
    await importEntries(repo, approvalsOf(judged, members, { number: 2 }))
    works.push([`${what} or verdicts`, () => connection.get(`${at}/pull-requests/1`)])
    works.push([`${what} and five verdicts`, () => connection.get(`${at}/pull-requests/2`)])
  }
  const { consent } = JSON.parse((await connection.get(`${node.at}/pull-requests/2`)).body.toString()).pr
  if (consent.approvals !== members.length || consent.required !== 2) throw new Error('The approvals do not count')
  const rows = await interleave(400, works)
  report.rows('a proposal', 'ms', rows)
  const [nothing, verdicts, , both] = rows
  sayMore(report, 'two rules and five verdicts', both, nothing, 0.3)
  sayMore(report, 'two rules', both, verdicts, 0.3)
  for (const [what, ms] of await cpuTimes(scene, 50, works)) report.say(`\na proposal ${what}: ${ms} ms of CPU time`)
  await benchRebased({ report, scene, connection, members }, await ruled.node())
}

/** Says how many milliseconds the median of `row` has more. */
function sayMore(report: Report, what: string, row: Row | undefined, of: Row | undefined, goal: number): void {
  const more = (row?.p50 ?? Number.NaN) - (of?.p50 ?? Number.NaN)
  report.say(`\n${what}: ${more.toFixed(2)} ms more; the goal is at most ${goal} ms`)
}

const proposals = 100

/** Compares lists, whose proposals have from no entry to 100. The CPU time is that of the service. */
async function benchList({ report, scene, connection, members, free, ruled }: Stage): Promise<void> {
  const talkers = [...members, ...makeTalkers(30)]
  const open = async (place: Place, verdicts: number, comments: number) => {
    const node = await place.node()
    const heads = await openForks(scene, node, proposals)
    const entries = heads.flatMap((one, n) => [
      ...approvalsOf(one, members.slice(0, verdicts), { number: n + 1 }),
      ...commentsOn(one, talkers, { number: n + 1, after: verdicts, count: comments }),
    ])
    if (entries.length > 0) await importEntries(node.repo, entries)
    return () => connection.get(`${node.at}/pull-requests?limit=${proposals}`)
  }
  const lists = [
    ['without rules or entries', await open(free, 0, 0)],
    ['with two rules', await open(ruled, 0, 0)],
    ['with two rules and two verdicts each', await open(ruled, 2, 0)],
    ['the same with 98 comments each', await open(ruled, 2, 98)],
  ] as const
  const rows = await interleave(100, lists)
  report.rows('lists of 100 proposals', 'ms', rows)
  const [none, , verdicts, comments] = rows.map(({ p50 }) => p50)
  report.ratio({
    ...{ unit: 'ms', what: '100 proposals with two rules and two verdicts each', grove: verdicts },
    ...{ peer: 'without rules or entries', of: none, wanted: { atMost: 1.3 } },
  })
  report.ratio({
    ...{ unit: 'ms', what: 'the same with 98 comments each', grove: comments },
    ...{ peer: 'only verdicts', of: verdicts, wanted: { atMost: 1.2 } },
  })
  for (const [what, ms] of await cpuTimes(scene, 5, lists)) report.say(`\na list ${what}: ${ms} ms of CPU time`)
}

/** Returns the CPU time of the service, in milliseconds, for each of the requests. They take turns. */
async function cpuTimes(
  { grove }: Scene,
  repeats: number,
  works: readonly (readonly [string, Work])[],
): Promise<[string, string][]> {
  const computed = works.map(() => 0)
  for (let n = 0; n < cpuRounds; n++)
    for (const [at, [, work]] of works.entries()) {
      const before = await computing(grove.pid)
      for (let k = 0; k < repeats; k++) await work()
      computed[at] = (computed[at] ?? 0) + (await computing(grove.pid)) - before
    }
  return works.map(([what], at) => [what, ((computed[at] ?? 0) / 1_000 / cpuRounds / repeats).toFixed(2)])
}

/** The CPU time is read in steps of 10 ms. */
const cpuRounds = 20

const pushes = 44

/** Compares pushes that merge, whose approvals are judged or not. */
async function benchPush({ report, scene, members, free, ruled }: Stage): Promise<void> {
  const desk = await newDesk()
  try {
    const sides = [await preparePushes(scene, desk, free, members), await preparePushes(scene, desk, ruled, members)]
    const computed = [0, 0]
    const work = (at: number) => async () => {
      const before = await computing(scene.grove.pid)
      await sides[at]?.()
      computed[at] = (computed[at] ?? 0) + (await computing(scene.grove.pid)) - before
    }
    const rows = await interleave(pushes - 4, [
      ['a push that merges, without rules', work(0)],
      ['a push that merges under two rules', work(1)],
    ])
    report.rows('git push, with two approvals each', 'ms', rows)
    sayMore(report, 'a push under two rules', rows[1], rows[0], 1)
    const [plain, judged] = computed.map((time) => (time / 1_000 / pushes).toFixed(1))
    report.say(`\nCPU time of a push: ${judged} ms under rules, ${plain} ms without`)
  } finally {
    await desk.remove()
  }
}

/** Opens approved proposals, each into a branch of its own. Returns a push of the next one. */
async function preparePushes({ ann, grove }: Scene, desk: Desk, place: Place, members: readonly Talker[]) {
  const { id, at, repo } = await place.node()
  const heads: string[] = []
  const post = async (path: string, body: object) => (await ann.post(`${at}/${path}`, body).then(expecting(201))).body
  for (let n = 0; n < pushes; n++) {
    const { head: base } = await post('branches', { name: `line/${n}` })
    await post('branches', { name: `draft/${n}` })
    const changes = [{ action: 'put', path: 'song.txt', content: `Song ${n}\n` }]
    const head = (await post(`tree/draft%2F${n}/commits`, { message: 'Sing', changes })).id
    const { pr } = await post('pull-requests', {
      source_branch: `draft/${n}`,
      target_branch: `line/${n}`,
      title: 'Sing',
    })
    const entries = approvalsOf({ head, base }, members.slice(0, 2), { number: pr.number })
    await importEntries(
      repo,
      entries.map((entry) => ({ ...entry, record: { ...entry.record, target_branch: `line/${n}` } })),
    )
    heads.push(head)
  }
  await desk.done(`git init -q --bare ${id}`)
  // The clone has all objects of the node, so that it never fetches.
  await writeFile(join(desk.dir, id, 'objects/info/alternates'), `${repo}/objects\n`)
  await timeOf(() => ann.get(`${at}/pull-requests?limit=1`))
  const url = remoteUrl(grove, place.org, id, ann.session.accessToken)
  let next = 0
  return () => desk.done(`git -C ${id} push -q ${url} ${heads[next]}:refs/heads/line/${next++}`)
}
