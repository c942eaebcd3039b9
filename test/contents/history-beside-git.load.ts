/** History as the service tells it against git itself: whatever branches do, and however long it is. */

import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { openHistory } from '../../gitstore/history/history.ts'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { gitIn } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'

let grove: Grove
let ann: PersonClient
before(async () => {
  grove = await startGrove()
  ann = await signUp(grove, 'Ann')
})
after(() => grove.close())

/** `parents` count back from the commit (near) or through all before it; `time` is the committer's clock, whatever they say. */
interface Plan {
  readonly parents: readonly number[]
  readonly time: number
  readonly near: boolean
}

const anyHistory = fc.array(
  fc.record({ parents: fc.array(fc.nat(), { maxLength: 3 }), time: fc.nat({ max: 12 }), near: fc.boolean() }),
  { minLength: 2, maxLength: 30 },
)
/** A branch is moved to some commit, wherever it was; null deletes it. */
const anyMoves = fc.array(
  fc.array(fc.tuple(fc.constantFrom('main', 'a', 'b', 'c', 'd/e'), fc.option(fc.nat(), { freq: 4 })), { maxLength: 4 }),
  { minLength: 1, maxLength: 6 },
)

describe('history', () => {
  it('is that of git log, rev-list and merge-base, however branches are made, moved, rewound and deleted', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anyMoves, fc.array(fc.nat(), { maxLength: 4 }), async (plan, steps, picks) => {
        const node = await newNode(grove, ann)
        const oids = fastImport(node, plan)
        const pick = (n: number) => oids[n % oids.length] ?? ''
        for (const moves of steps) {
          for (const [branch, to] of new Map(moves)) {
            if (to !== null) node.git.point(branch, pick(to))
            else if (branch !== 'main' && branchesOf(node).includes(branch)) node.git.point(branch, null)
          }
          await expectAsGitSays(node, picks.map(pick))
          expectOnePlaceForEach(grove)
        }
      }),
      { numRuns: 12, endOnFailure: true },
    )
  })

  it('is that of git log while 16,000 commits with 4,000 merges arrive in steps', async () => {
    const node = await newNode(grove, ann)
    // Of every four commits the second leaves the line two before, and the fourth merges it; clocks are off now and then.
    const parents = [[0], [2], [1], [0, 1]]
    const plan = Array.from({ length: 16_000 }, (_, i): Plan => {
      return { parents: parents[i % 4] ?? [], time: i + (i % 97 === 0 ? -5 : 0), near: true }
    })
    const oids = fastImport(node, plan)
    for (const upTo of [4, 8, 400, 404, 2_000, 2_001, 2_002, 8_000, 15_996, 16_000]) {
      node.git.point('main', oids[upTo - 1] ?? '')
      node.git.point('side', oids[upTo - 3] ?? '')
      await expectSamePages(node, 'main')
      await expectSamePages(node, 'side')
    }
    await expectAsGitSays(node, [oids[0] ?? '', oids[7_000] ?? ''])
    expectOnePlaceForEach(grove)
  })

  it('is told by two commits side by side as by one after the other', async () => {
    const node = await newNode(grove, ann)
    const oids = fastImport(
      node,
      Array.from({ length: 3_000 }, (_, i): Plan => ({ parents: [0], time: i, near: true })),
    )
    for (const [n, oid] of oids.slice(-20).entries()) node.git.point(n === 0 ? 'main' : `b${n}`, oid)
    const pages = Array.from({ length: 12 }, (_, n) => ann.get(`${node.at}/tree/${n === 0 ? 'main' : `b${n}`}/commits`))
    for (const [n, page] of (await Promise.all(pages)).entries()) expect(page.body.total).to.equal(2_981 + n)
    expectOnePlaceForEach(grove)
  })

  it('keeps nothing of branches and nodes that are gone', async () => {
    const node = await newNode(grove, ann)
    // The entries of other nodes end later, in the background.
    const rows = () =>
      inIndex(
        grove,
        'select count(*) as n from entry where chain in (select id from chain where node_id = ?)',
        node.id,
      )[0]?.n
    const chains = () => inIndex(grove, 'select * from chain where node_id = ?', node.id)
    const before = rows()
    for (const name of ['one', 'two', 'three']) await node.proposal(name)
    await node.commit('two', { 'more.txt': 'more' })
    expect(rows()).to.equal(Number(before) + 4)
    for (const name of ['one', 'two', 'three'])
      expect((await ann.delete(`${node.at}/branches/${name}`)).status).to.equal(204)
    expect(rows()).to.equal(before)
    expect(chains()).to.have.length(1)
    expect((await ann.delete(node.at)).status).to.equal(204)
    expect(chains()).to.have.length(0)
  })

  it('is known of a commit that is only in a draft, and forgotten with the draft', async () => {
    const node = await newNode(grove, ann)
    const base = node.git.head()
    const unknown = {
      isCut: async () => false,
      tips: async () => [],
      page: async () => undefined,
      holdsAny: async () => undefined,
      named: async () => undefined,
      shared: async () => undefined,
    }
    const draft = newObjectBatch({ dir: node.git.dir })
    const by = { name: 'Ben', email: 'ben@example.org', timestamp: 1_700_000_100, timezoneOffset: 0 }
    const tree = node.git.say('rev-parse', `${base}^{tree}`)
    const oid = await draft.commit({ tree, parents: [base], author: by, committer: by, message: 'Draft' })
    const history = openHistory(draft.repo, unknown)
    expect(await history.page(oid, 0, 10)).to.deep.equal({ total: 2, oids: [oid, base] })
    expect(await history.mergeBase(oid, base)).to.equal(base)
    const error = await openHistory({ dir: node.git.dir }, unknown)
      .page(oid, 0, 10)
      .catch((thrown: unknown) => thrown)
    expect(error).to.have.property('code', 'object_missing')
  })
})

function branchesOf(node: TestNode): string[] {
  return [...headsOf(node).keys()]
}

/** By branch, as git has them now. */
function headsOf(node: TestNode): Map<string, string> {
  const lines = node.git.lines('for-each-ref', '--format=%(objectname) %(refname:lstrip=2)', 'refs/heads')
  return new Map(lines.map((line) => [line.slice(41), line.slice(0, 40)]))
}

/** Answers of Git. The merge base of two commits, and the log of one, never change. */
const told = new Map<string, string>()

function ask(node: TestNode, ...args: readonly string[]): string {
  const question = [node.id, ...args].join(' ')
  const known = told.get(question) ?? node.git.say(...args)
  told.set(question, known)
  return known
}

function logOf(node: TestNode, head: string): string[] {
  return ask(node, 'log', '--format=%H', head).split('\n')
}

/** Every page of every branch; containment, divergence and merge bases of branches and of `commits`. */
async function expectAsGitSays(node: TestNode, commits: readonly string[]): Promise<void> {
  const heads = headsOf(node)
  for (const [branch, head] of heads) await expectSamePages(node, branch, head)
  for (const [branch, head] of heads) {
    const log = logOf(node, head)
    for (const oid of commits) {
      const { status } = await ann.get(`${node.at}/tree/${encodeURIComponent(branch)}/commits/${oid}`)
      expect(status, `${oid} on ${branch}`).to.equal(log.includes(oid) ? 200 : 404)
    }
    for (const [other, otherHead] of heads) {
      const theirs = logOf(node, otherHead)
      const asked = `${node.at}/compare?base=${encodeURIComponent(other)}&head=${encodeURIComponent(branch)}`
      const { body } = await ann.get(asked)
      expect([body.commits_ahead, body.commits_behind], `${branch} and ${other}`).to.deep.equal([
        withoutAll(log, theirs).length,
        withoutAll(theirs, log).length,
      ])
      expect(body.merge_base).to.equal(mergeBase(node, otherHead, head))
    }
  }
}

/** Returns the commits that only the first list has. */
function withoutAll(list: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others)
  return list.filter((oid) => !known.has(oid))
}

function mergeBase(node: TestNode, a: string, b: string): string | null {
  try {
    return ask(node, 'merge-base', a, b)
  } catch {
    return null
  }
}

async function expectSamePages(node: TestNode, branch: string, head = node.git.head(branch)): Promise<void> {
  const log = logOf(node, head)
  const path = `${node.at}/tree/${encodeURIComponent(branch)}/commits`
  const page = async (offset: number, limit: number) => {
    const { body }: Answer = await ann.get(`${path}?offset=${offset}&limit=${limit}`)
    expect(body.total).to.equal(log.length)
    const shown = body.history.map(({ id }: { id: string }) => id)
    expect(shown, `${branch} from ${offset}`).to.deep.equal(log.slice(offset, offset + limit))
  }
  await page(0, 100)
  if (log.length <= 40) for (let offset = 3; offset < log.length + 8; offset += 7) await page(offset, 7)
  else for (const part of [0.01, 0.3, 0.7, 0.99]) await page(Math.floor(log.length * part), 60)
}

/** No commit's own log is laid out twice, and every chain is as long as it says. */
function expectOnePlaceForEach(at: Grove): void {
  const twice = `select chain.node_id, entry.oid from entry join chain on chain.id = entry.chain
    where entry.bend <> entry.pos and chain.whole = 1 group by chain.node_id, entry.oid having count(*) > 1`
  expect(inIndex(at, twice)).to.deep.equal([])
  const torn = `select chain.id from chain where chain.whole = 1 and chain.tip - chain.base_pos <>
    (select count(*) from entry where entry.chain = chain.id)`
  expect(inIndex(at, torn)).to.deep.equal([])
}

function inIndex({ dataDir }: Grove, query: string, ...values: string[]): { n?: number }[] {
  const index = openSqlite(join(dataDir, 'index.sqlite'), { readonly: true })
  try {
    return index.prepare<string[], { n?: number }>(query).all(...values)
  } finally {
    index.close()
  }
}

/** The commits of `plan`, in the node's repository, with the root of its main as the parent of those that have none. */
function fastImport(node: TestNode, plan: readonly Plan[]): string[] {
  const lines = plan.flatMap(({ parents, time, near }, i) => {
    const all = parents.filter(() => i > 0).map((p) => (near ? i - 1 - (p % Math.min(i, 10)) : p % i))
    const [first, ...others] = [...new Set(all)]
    const from = first === undefined ? [] : [`from :${first + 1}`, ...others.map((p) => `merge :${p + 1}`)]
    const text = String(i)
    const head = ['reset refs/import', 'commit refs/import', `mark :${i + 1}`, `committer C <c@x> ${1e6 + time} +0000`]
    return [...head, `data ${text.length}`, text, ...from, 'deleteall', '']
  })
  const marks = plan.map((_, i) => `get-mark :${i + 1}`)
  const args = ['-c', 'fastimport.unpackLimit=0', 'fast-import', '--quiet', '--force']
  const oids = gitIn(grove, node.org, node.id).run(args, { input: `${[...lines, ...marks].join('\n')}\n` })
  node.git.say('update-ref', '-d', 'refs/import')
  return oids.toString('latin1').trim().split('\n')
}
