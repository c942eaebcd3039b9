/** Measures comments, reviews and consent of pull requests, next to the same requests without them in one run. */

import { gzipSync } from 'node:zlib'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type Connection, connectTo } from './load.ts'
import { git, interleave, rowOf, timeOf, turns } from './measure.ts'
import { computing } from './processes.ts'
import type { Report, Row } from './report.ts'
import { fastImport } from './repositories.ts'
import {
  approvalsOf,
  changeRows,
  commentsOn,
  type Heads,
  type ImportedEntry,
  importEntries,
  insertPulls,
  makeTalkers,
  openForks,
  type Talker,
} from './review-data.ts'
import { type BenchNode, openScene, type Scene } from './scene.ts'

interface Stage {
  readonly report: Report
  readonly scene: Scene
  readonly connection: Connection
  readonly bo: PersonClient
  /** Five members. */
  readonly members: readonly Talker[]
  /** The members, and users who are none. */
  readonly talkers: readonly Talker[]
}

export async function benchReviews(report: Report): Promise<void> {
  const scene = await openScene(1)
  const connection = scene.connect()
  try {
    const people: PersonClient[] = []
    for (const name of ['Bo', 'Cy', 'Di', 'Ed', 'Flo']) people.push(await signUp(scene.grove, name))
    for (const { user } of people)
      await scene.ann.put(`/orgs/${scene.ann.org}/members/${user.email}`, { role: 'editor' }).then(expecting(200))
    const members = people.map(({ user: { id, name, email } }) => ({ id, name, email }))
    const [bo] = people
    if (!bo) throw new Error('There is nobody')
    const stage = { report, scene, connection, bo, members, talkers: [...members, ...makeTalkers(30)] }
    await benchWrites(stage)
    await benchLists(stage)
    await benchOne(stage)
    await benchRebased(stage, await scene.node())
    await benchPages(stage)
    await benchRebuilds(stage)
    await benchRows(stage)
  } finally {
    connection.close()
    await scene.close()
  }
}

/** Reads the measured rows. @throws Error if fewer were measured */
function need(row: Row | undefined): Row {
  if (!row) throw new Error('Nothing was measured')
  return row
}

const ms = { unit: 'ms' } as const

/** Compares a comment and a review with a commit, and comments on a short and on a full conversation. */
async function benchWrites({ report, scene, bo, talkers }: Stage): Promise<void> {
  const plain = await scene.node()
  const node = await scene.node()
  const heads = await openForks(scene, node, 4)
  const [, , short, long] = heads
  if (!short || !long) throw new Error('There are no proposals')
  await importEntries(node.repo, [
    ...commentsOn(short, talkers, { number: 3, count: 10 }),
    ...commentsOn(long, talkers, { number: 4, count: 9_900 }),
  ])
  let n = 0
  const commit = () => {
    const changes = [{ action: 'put', path: 'docs/page.md', content: `text ${n++}` }]
    return scene.ann.post(`${plain.at}/tree/main/commits`, { message: 'edit', changes }).then(expecting(201))
  }
  const comment = (number: number) => () =>
    bo.post(`${node.at}/pull-requests/${number}/comments`, { text: `Comment ${n++}` }).then(expecting(201))
  const review = (count: number) => () => {
    const comments = Array.from({ length: count }, () => ({ text: `Comment ${n++}` }))
    const body = { verdict: 'comment', text: 'Read.', comments, expected_source_commit: heads[1]?.head }
    return bo.post(`${node.at}/pull-requests/2/reviews`, body).then(expecting(201))
  }
  const rows = await interleave(60, [
    ['a commit over REST', commit],
    ['a comment', comment(1)],
    ['a review without comments', review(0)],
    ['a review with 20 comments', review(20)],
    ['a comment after 10 entries', comment(3)],
    ['a comment after 9,900 entries', comment(4)],
  ])
  report.rows('comments and reviews', 'ms', rows)
  const [ofCommit, ofComment, , ofReview, after10, after9900] = rows.map(({ p50 }) => p50)
  const peer = 'a commit over REST'
  report.ratio({ ...ms, what: 'a comment', grove: ofComment, peer, of: ofCommit, wanted: { atMost: 1.8 } })
  report.ratio({
    ...ms,
    what: 'a review with 20 comments',
    grove: ofReview,
    peer,
    of: ofCommit,
    wanted: { atMost: 2.5 },
  })
  report.ratio({
    ...{ ...ms, what: 'a comment after 9,900 entries', grove: after9900 },
    ...{ peer: 'after 10 entries', of: after10, wanted: { atMost: 1.2 } },
  })
}

const proposals = 100

/** Compares lists of proposals with and without entries. */
async function benchLists({ report, scene, connection, members, talkers }: Stage): Promise<void> {
  const open = async (entriesOf: (heads: Heads, number: number) => readonly ImportedEntry[]) => {
    const node = await scene.node()
    const heads = await openForks(scene, node, proposals)
    const entries = heads.flatMap((one, n) => entriesOf(one, n + 1))
    if (entries.length > 0) await importEntries(node.repo, entries)
    return node
  }
  const two = members.slice(0, 2)
  const silent = await open(() => [])
  const judged = await open((heads, number) => approvalsOf(heads, two, { number }))
  const discussed = await open((heads, number) => [
    ...approvalsOf(heads, two, { number }),
    ...commentsOn(heads, talkers, { number, after: 2, count: 98 }),
  ])
  const list = ({ at }: BenchNode) => connection.get(`${at}/pull-requests?limit=${proposals}`)
  const { pull_requests } = JSON.parse((await list(discussed)).body.toString())
  const counted = pull_requests.filter((one: { consent: { approvals: number } }) => one.consent.approvals === 2).length
  if (counted !== proposals) throw new Error(`${counted} proposals have two approvals`)
  const rows = await interleave(100, [
    ['100 proposals without entries', () => list(silent)],
    ['100 proposals with two verdicts each', () => list(judged)],
    ['the same with 98 comments each', () => list(discussed)],
  ])
  report.rows('lists of proposals', 'ms', rows)
  const [none, verdicts, comments] = rows.map(({ p50 }) => p50)
  const peer = 'without entries'
  report.ratio({
    ...{ ...ms, what: '100 proposals with two verdicts each' },
    ...{ grove: verdicts, peer, of: none, wanted: { atMost: 1.3 } },
  })
  report.ratio({
    ...{ ...ms, what: 'the same with 98 comments each' },
    ...{ grove: comments, peer: 'only verdicts', of: verdicts, wanted: { atMost: 1.2 } },
  })
}

/** Compares a proposal that five members approved with one without verdicts. */
async function benchOne({ report, scene, connection, members }: Stage): Promise<void> {
  const node = await scene.node()
  const [, judged] = await openForks(scene, node, 2)
  if (!judged) throw new Error('There are no proposals')
  await importEntries(node.repo, approvalsOf(judged, members, { number: 2 }))
  const read = (number: number) => () => connection.get(`${node.at}/pull-requests/${number}`)
  const rows = await interleave(300, [
    ['a proposal without verdicts', read(1)],
    ['a proposal with five verdicts', read(2)],
  ])
  report.rows('a proposal', 'ms', rows)
  const [without, withFive] = rows.map(({ p50 }) => p50)
  sayMore(report, 'five verdicts', need(rows[1]), need(rows[0]), 0.3)
  report.ratio({ ...ms, what: 'a proposal with five verdicts', grove: withFive, peer: 'without verdicts', of: without })
}

function sayMore(report: Report, what: string, { p50 }: Row, { p50: of }: Row, goal: number): void {
  report.say(`\n${what}: ${(p50 - of).toFixed(2)} ms more; the goal is at most ${goal} ms`)
}

const rebases = 33

/** Measures the first read of approved proposals after each was rebased onto a change of the same file. */
export async function benchRebased(
  { report, scene, connection, members }: Pick<Stage, 'report' | 'scene' | 'connection' | 'members'>,
  node: BenchNode,
): Promise<void> {
  const judged = await openLineForks(scene, node)
  const entries = judged.flatMap((heads, n) => (n < rebases ? approvalsOf(heads, members, { number: n + 1 }) : []))
  await importEntries(node.repo, entries)
  await rebaseLineForks(node)
  const read = (from: number) => {
    const next = turns(Array.from({ length: rebases }, (_, n) => from + n + 1))
    return async () => {
      const { pr } = JSON.parse((await connection.get(`${node.at}/pull-requests/${next()}`)).body.toString())
      const expected = from === 0 ? members.length : 0
      if (pr.consent.approvals !== expected) throw new Error(`${pr.consent.approvals} approvals instead of ${expected}`)
    }
  }
  await connection.get(`${node.at}/pull-requests?limit=1`)
  const rows = await interleave(rebases - 3, [
    ['first read after a rebase, without verdicts', read(rebases)],
    ['first read after a rebase, five verdicts', read(0)],
  ])
  report.rows('a proposal after a rebase that Git must merge', 'ms', rows)
  sayMore(report, 'five verdicts, first read after a rebase', need(rows[1]), need(rows[0]), 30)
}

const lines = (first: string, last: string) =>
  `${[first, ...Array.from({ length: 60 }, (_, n) => `line ${n}`), last].join('\n')}\n`

/** Writes a branch whose only commit changes content.md. */
const lineCommit = (branch: string, from: string, text: string) =>
  `commit refs/heads/${branch}\ncommitter Ann <ann@example.org> 1767225600 +0000\ndata 4\nedit\nfrom ${from}\nM 100644 inline content.md\ndata ${text.length}\n${text}\n`

const forkNames = Array.from({ length: 2 * rebases }, (_, n) => `line-${n + 1}`)

/** Opens proposals that each change the last line of content.md. */
async function openLineForks({ ann }: Scene, { at, repo }: BenchNode): Promise<Heads[]> {
  await fastImport(repo, async (write) => {
    await write(lineCommit('main', 'refs/heads/main^0', lines('first', 'last')))
    for (const branch of forkNames) await write(lineCommit(branch, 'refs/heads/main', lines('first', branch)))
  })
  for (const branch of forkNames)
    await ann.post(`${at}/pull-requests`, { source_branch: branch, title: branch }).then(expecting(201))
  const [base = '', ...heads] = (await git(repo, 'rev-parse', 'main', ...forkNames)).split('\n')
  return heads.map((head) => ({ head, base }))
}

/** Changes the first line on main, and rebases every proposal onto it. */
async function rebaseLineForks({ repo }: BenchNode): Promise<void> {
  await fastImport(repo, async (write) => {
    await write(lineCommit('main', 'refs/heads/main^0', lines('the first', 'last')))
    for (const branch of forkNames) await write(lineCommit(branch, 'refs/heads/main', lines('the first', branch)))
  })
}

/** Measures pages of threads and of the timeline. */
async function benchPages({ report, scene, connection, talkers }: Stage): Promise<void> {
  const node = await scene.node()
  const heads = await openForks(scene, node, 3)
  await importEntries(
    node.repo,
    [100, 1_000, 10_000].flatMap((count, n) =>
      commentsOn(heads[n] ?? { head: '', base: '' }, talkers, { number: n + 1, count }),
    ),
  )
  const at = (number: number) => `${node.at}/pull-requests/${number}`
  const threads = (number: number, limit: number) => () => connection.get(`${at(number)}/threads?limit=${limit}`)
  const timeline = (number: number, after: number) => () =>
    connection.get(`${at(number)}/timeline?after=${after}&limit=50`)
  const rows = await interleave(100, [
    ['20 threads of 100 comments', threads(1, 20)],
    ['20 threads of 1,000 comments', threads(2, 20)],
    ['20 threads of 10,000 comments', threads(3, 20)],
    ['200 threads of 1,000 comments', threads(2, 200)],
    ['the last 50 of 100 entries', timeline(1, 50)],
    ['the last 50 of 10,000 entries', timeline(3, 9_950)],
  ])
  report.rows('pages of a conversation', 'ms', rows)
  const { body } = await threads(2, 200)()
  report.say(
    `\n200 threads of 1,000 comments: ${(body.length / 1_024).toFixed(0)} KiB, ${(gzipSync(body).length / 1_024).toFixed(0)} KiB of gzip`,
  )
  const [few, many, most, , start, end] = rows.map(({ p50 }) => p50)
  report.ratio({
    ...ms,
    what: '20 threads of 1,000 comments',
    grove: many,
    peer: 'of 100 comments',
    of: few,
    wanted: { atMost: 2 },
  })
  report.ratio({ ...ms, what: '20 threads of 10,000 comments', grove: most, peer: 'of 100 comments', of: few })
  report.ratio({
    ...ms,
    what: 'the last 50 of 10,000 entries',
    grove: end,
    peer: 'of 100 entries',
    of: start,
    wanted: { atMost: 1.2 },
  })
}

/** Measures how long the first read takes if the rows of 10,000 entries are lost. */
async function benchRebuilds({ report, scene, connection, talkers }: Stage): Promise<void> {
  const rows: Row[] = []
  for (const count of [1, 100]) {
    const node = await scene.node()
    const heads = await openForks(scene, node, count)
    const entries = heads.flatMap((one, n) => commentsOn(one, talkers, { number: n + 1, count: 10_000 / count }))
    await importEntries(node.repo, entries)
    const read = () => connection.get(`${node.at}/pull-requests/1/timeline?limit=1`)
    await read()
    const times: number[] = []
    const computed = await computing(scene.grove.pid)
    for (let n = 0; n < rebuilds; n++) {
      changeRows(scene, (db) => {
        db.prepare('delete from review_entry where node_id = ?').run(node.id)
        db.prepare('update node set entries_ledger = null where id = ?').run(node.id)
      })
      times.push(await timeOf(read))
    }
    const row = rowOf(`10,000 entries of ${count === 1 ? 'one proposal' : `${count} proposals`}`, times)
    const cpuMs = ((await computing(scene.grove.pid)) - computed) / rebuilds / 1_000
    report.say(
      `\n${row.what}, indexed again: ${cpuMs.toFixed(0)} ms of CPU time, at best ${Math.min(...times).toFixed(0)} ms`,
    )
    report.ratio({
      ...ms,
      what: `indexing ${row.what}`,
      grove: row.p50,
      peer: 'the goal',
      of: 1_000,
      wanted: { atMost: 1 },
    })
    rows.push(row)
  }
  report.rows('entries indexed again', 'ms', rows)
}

const rebuilds = 7

/** Measures what waits for a user, and the list of an organisation, among 20,000 pull requests. */
async function benchRows({ report, scene, bo, talkers }: Stage): Promise<void> {
  const { org } = scene.ann
  const nodes: string[] = []
  for (let n = 0; n < 4; n++) {
    const made = Array.from({ length: 50 }, (_, at) => ({ title: `Node ${n * 50 + at}` }))
    const { body } = await scene.ann.post(`/orgs/${org}/nodes/batch`, { nodes: made }).then(expecting(201))
    nodes.push(...body.nodes.map((one: { id: string }) => one.id))
  }
  const others = talkers.slice(1).map(({ id }) => id)
  insertPulls(scene, { org, nodes, total: 20_000, open: 2_000, reviewers: others, user: bo.user.id, waiting: 84 })
  const connection = connectTo(scene.grove.url, { authorization: `Bearer ${bo.session.accessToken}` })
  try {
    const { total } = JSON.parse((await connection.get('/waiting?limit=200')).body.toString())
    if (total !== 84) throw new Error(`${total} pull requests wait instead of 84`)
    const list = (query: string) => () => connection.get(`/orgs/${org}/pull-requests?limit=50&${query}`)
    const rows = await interleave(150, [
      ['a node', () => connection.get(`/orgs/${org}/nodes/${nodes[0]}`)],
      ['/waiting, 84 pull requests, a page of 50', () => connection.get('/waiting?limit=50')],
      ['open pull requests of the organisation', list('')],
      ['the same with a reviewer', list('reviewer=me')],
      ['the same with a reviewer, of any status', list('reviewer=me&status=all')],
    ])
    report.rows('2,000 open of 20,000 pull requests at 200 nodes', 'ms', rows)
    const [node, waiting, all, ofReviewer] = rows.map(({ p50 }) => p50)
    report.ratio({ ...ms, what: '/waiting with 84', grove: waiting, peer: 'the goal', of: 3, wanted: { atMost: 1 } })
    report.ratio({ ...ms, what: '/waiting with 84', grove: waiting, peer: 'GET of a node', of: node })
    report.ratio({ ...ms, what: 'open ones that a user reviews', grove: ofReviewer, peer: 'all open ones', of: all })
  } finally {
    connection.close()
  }
}
