/**
 * Approvals, withdrawals, REST merges and pushes at two processes at once. The ledger alone gives an order in which each
 * merge had its consent, and each refusal had a reason.
 */

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { type Replay, type ReplayedPull, replay } from '../support/ledger-replay.ts'
import { times } from '../support/many.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { randomFrom } from '../support/random.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

const acts = 1_000
const writers = 8
/** Proposals that are open at a time. */
const open = 6
const approvals = 2

/** From the beginning of a request to its answer, by a clock that counts both. */
interface Span {
  readonly begun: number
  readonly ended: number
}

interface Attempt extends Span {
  readonly number: number
  /** Absent: it was answered that the proposal is merged. */
  readonly refusal?: string
}

/** A proposal into a branch of its own. */
interface Proposal {
  readonly number: number
  readonly base: string
  /** The commits that were its head, the last one last. */
  readonly heads: (Span & { readonly oid: string })[]
  /** Reviews that nobody withdraws yet. */
  readonly reviews: { readonly by: PersonClient; readonly entry: number }[]
  isOver: boolean
}

const noConsent = /needs \d more approval|approvals_missing|asks for changes|changes_requested/
/** Why a merge or a push may be refused otherwise. */
const otherReasons =
  /^busy$|^head_moved$|another write is in progress|moves only to the head of an open pull request|has moved since you fetched|error: 503/

describe('consent under concurrent writes', () => {
  let dataDir: string
  let desk: Desk
  const doors: SpawnedGrove[] = []
  let ann: PersonClient
  let reviewers: PersonClient[]
  let node: TestNode

  const random = randomFrom(37)
  const any = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] ?? fail('There is nothing to pick')
  const at = (person: PersonClient): Client => client(any(doors), person.session.accessToken).hasty
  let clock = 0
  const timed = async <T>(work: () => Promise<T>): Promise<Span & { readonly answer: T }> => {
    const begun = ++clock
    const answer = await work()
    return { answer, begun, ended: ++clock }
  }

  const proposals: Proposal[] = []
  const attempts: Attempt[] = []
  /** The acknowledged entries, by the subject of their commit in the ledger. */
  const told = new Map<string, Span>()

  before(async () => {
    dataDir = await newDataDir()
    desk = await newDesk()
    for (let n = 0; n < 2; n++) doors.push(await spawnGrove(dataDir))
    const [door] = doors
    if (!door) throw new Error('No process lives')
    ann = await signUp(door, 'Ann')
    reviewers = []
    for (const name of ['Bob', 'Cy', 'Di']) {
      const reviewer = await signUp(door, name)
      await ann.put(`/orgs/${ann.org}/members/${reviewer.user.email}`, { role: 'editor' }).then(expecting(200))
      reviewers.push(reviewer)
    }
    node = await newNode({ dataDir }, ann)
    await ann.patch(`/orgs/${ann.org}`, { rules: [{ branches: ['line/**'], approvals }] }).then(expecting(200))
    await desk.done('git init -q --bare clone.git')
    // The clone has all objects of the node, so that it never fetches.
    await writeFile(join(desk.dir, 'clone.git/objects/info/alternates'), `${node.git.dir}/objects\n`)
  })
  after(async () => {
    await Promise.all(doors.map((door) => door.stop()))
    await desk.remove()
    await rm(dataDir, { recursive: true, force: true })
  })

  const pathOf = ({ number }: Proposal) => `${node.at}/pull-requests/${number}`
  let made = 0

  const propose = async () => {
    const n = ++made
    const base = await node.branch(`line/${n}`)
    const { answer, ...span } = await timed(() => node.proposal(`draft/${n}`))
    const more = { title: `draft/${n}`, target_branch: `line/${n}` }
    const { answer: pr, ...opened } = await timed(() => node.open(`draft/${n}`, more))
    told.set(`open ${pr.number}`, opened)
    proposals.push({ number: pr.number, base, heads: [{ ...span, oid: answer }], reviews: [], isOver: false })
  }

  const branches = new Map<number, string>()
  const branchOf = async ({ number }: Proposal): Promise<string> => {
    const known = branches.get(number) ?? (await node.pull(number)).source_branch
    branches.set(number, known)
    return known
  }

  const review = async (proposal: Proposal) => {
    const by = any(reviewers)
    const verdict = random() < 0.85 ? 'approve' : 'request_changes'
    const body = { verdict, text: 'Read.', expected_source_commit: proposal.heads.at(-1)?.oid }
    const { answer, ...span } = await timed(() => at(by).post(`${pathOf(proposal)}/reviews`, body))
    if (answer.status !== 201)
      return expect(answer.body.code, JSON.stringify(answer)).to.match(/^(merged|head_moved|busy)$/)
    const { entry } = answer.body
    told.set(`review ${proposal.number} ${entry}`, span)
    proposal.reviews.push({ by, entry })
  }

  const withdraw = async (proposal: Proposal) => {
    const [one] = proposal.reviews.splice(Math.floor(random() * proposal.reviews.length), 1)
    if (!one) return review(proposal)
    const path = `${pathOf(proposal)}/reviews/${one.entry}`
    const { answer, ...span } = await timed(() => at(one.by).patch(path, { state: 'withdrawn' }))
    if (answer.status === 200) told.set(`withdraw ${proposal.number} ${one.entry}`, span)
    else expect(answer.body.code, JSON.stringify(answer)).to.match(/^(merged|busy)$/)
  }

  const note = (proposal: Proposal, { begun, ended }: Span, refusal?: string) => {
    attempts.push({ number: proposal.number, begun, ended, ...(refusal !== undefined && { refusal }) })
    if (refusal === undefined) proposal.isOver = true
  }

  const merge = async (proposal: Proposal) => {
    const { answer, ...span } = await timed(() => at(any(reviewers)).post(`${pathOf(proposal)}/merge`, {}))
    note(proposal, span, answer.status === 200 ? undefined : `${answer.body.code}`)
  }

  const push = async (proposal: Proposal) => {
    const url = remoteUrl(any(doors), node.org, node.id, any(reviewers).session.accessToken)
    const branch = (await branchOf(proposal)).replace('draft/', 'line/')
    const command = `git -C clone.git push --porcelain ${url} ${proposal.heads.at(-1)?.oid}:refs/heads/${branch}`
    const { answer, ...span } = await timed(() => desk.sh(command))
    note(proposal, span, answer.code === 0 ? undefined : answer.text)
  }

  const commit = async (proposal: Proposal) => {
    const branch = await branchOf(proposal)
    const changes = [{ action: 'put', path: 'more.txt', content: `${++clock}` }]
    const path = `${node.at}/tree/${encodeURIComponent(branch)}/commits`
    const { answer, ...span } = await timed(() => at(ann).post(path, { message: 'More', changes }))
    // An ended proposal keeps its branch, which may grow.
    if (answer.status === 201) proposal.heads.push({ ...span, oid: answer.body.id })
    else expect(answer.body.code, JSON.stringify(answer)).to.equal('busy')
  }

  const works = [
    { work: review, upTo: 0.42 },
    { work: withdraw, upTo: 0.6 },
    { work: merge, upTo: 0.82 },
    { work: push, upTo: 0.96 },
    { work: commit, upTo: 1 },
  ]

  it('has an order that the ledger shows, in which rules held for each merge', async () => {
    await times(open, propose)
    let left = acts
    await times(writers, async () => {
      while (left-- > 0) {
        const share = random()
        const { work } = works.find(({ upTo }) => share < upTo) ?? { work: merge }
        await work(any(proposals.filter(({ isOver }) => !isOver)))
        while (proposals.filter(({ isOver }) => !isOver).length < open) await propose()
      }
    })
    const ledger = replay(node.git)
    const acknowledged = attempts.filter(({ refusal }) => refusal === undefined).map(({ number }) => number)
    const merged = [...new Set(acknowledged)]
    const wanted = ['create', ...told.keys(), ...merged.map((number) => `merge ${number}`)]
    expect([...ledger.subjects].sort(), 'each answer is one commit').to.deep.equal(wanted.sort())
    for (const proposal of proposals) judgeProposal(ledger, proposal, merged.includes(proposal.number))
    const refused = attempts.filter(({ refusal = '' }) => noConsent.test(refusal))
    for (const attempt of refused) judgeRefusal(ledger, attempt)
    for (const { refusal = 'busy' } of attempts) if (!noConsent.test(refusal)) expect(refusal).to.match(otherReasons)
    node.git.fsck()
    // Enough of each that the comparison says something.
    expect(merged.length).to.be.greaterThan(10)
    expect(refused.length).to.be.greaterThan(50)
  })

  function judgeProposal(ledger: Replay, { number, base, heads }: Proposal, isMerged: boolean): void {
    const count = ledger.subjects.indexOf(`merge ${number}`)
    const { record, entries } = ledger.pullAt(number, ledger.subjects.length)
    expect([...entries.keys()].sort((a, b) => a - b)).to.deep.equal([...entries].map((_, n) => n + 1))
    expect(record.status, `proposal ${number}`).to.equal(isMerged ? 'merged' : 'open')
    const moved = isMerged ? record.source_commit : base
    expect(node.git.head(record.target_branch), `the target of ${number}`).to.equal(moved)
    if (!isMerged) return
    expect(heads.map(({ oid }) => oid)).to.include(record.source_commit)
    const before = ledger.pullAt(number, count)
    const said = `merge ${number} after ${JSON.stringify([...before.entries])}`
    expect(hasConsent(before, record.source_commit), said).to.equal(true)
  }

  /** While the request was under way, a commit of the ledger had not the consent. */
  function judgeRefusal(ledger: Replay, { number, begun, ended, refusal }: Attempt): void {
    const spans = ledger.subjects.map((subject) => told.get(subject))
    const first = 1 + spans.findLastIndex((span) => span !== undefined && span.ended < begun)
    const later = spans.findIndex((span) => span !== undefined && span.begun > ended)
    const last = later < 0 ? spans.length : later
    const heads = proposals.find((one) => one.number === number)?.heads ?? []
    const possible = heads.filter((head, n) => head.begun < ended && (heads[n + 1]?.ended ?? ended) >= begun)
    let isJust = false
    for (let count = first; count <= last && !isJust; count++)
      isJust = possible.some(({ oid }) => !hasConsent(ledger.pullAt(number, count), oid))
    expect(isJust, `${refusal} of ${number} between ${first} and ${last}`).to.equal(true)
  }
})

/** The rule of the test: enough approvals of this head, and no objection. */
function hasConsent({ entries }: ReplayedPull, head: string): boolean {
  const verdicts = [...entries].sort(([a], [b]) => a - b).filter(([, { kind }]) => kind === 'verdict')
  const last = new Map(verdicts.map(([, json]) => [json.by.id, json]))
  const standing = [...last.values()].filter(({ withdrawn }) => !withdrawn)
  if (standing.some(({ verdict }) => verdict === 'request_changes')) return false
  return standing.filter((json) => json.head === head).length >= approvals
}

function fail(text: string): never {
  throw new Error(text)
}
