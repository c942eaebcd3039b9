/** Random histories: what a pull request needs, and whether it merges, is what a naive judge of the files says. */

import { expect } from 'chai'
import fc from 'fast-check'
import { type Git, gitIn as repositoryIn } from '../support/git.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import type { Answer, PersonClient } from '../support/people.ts'
import { ann, become, bob, cy, gitIn, grove, max, type Rule, rae, setRules, useDoors } from './doors.ts'
import { judgeNaively } from './naive-judge.ts'

/** A node, and its one open pull request. */
interface History {
  readonly node: TestNode
  readonly org: Git
  number: number
  source: string
  merged: number
}

const pathOf = ({ node, number }: History) => `${node.at}/pull-requests/${number}`
const people = () => [bob, cy, max, rae]
const pick = <T>(list: readonly T[], at: number): T => list[at % list.length] as T // never empty

const write = (by: PersonClient, { at }: TestNode, branch: string, path: string, content: string) =>
  by.post(`${at}/tree/${branch}/commits`, { message: 'A change', changes: [{ action: 'put', path, content }] })

/** Begins the next proposal when the last one was merged. */
async function propose(history: History): Promise<void> {
  history.source = `draft-${history.merged}`
  await history.node.branch(history.source)
  await write(ann, history.node, history.source, `${history.source}.txt`, 'One.\n\nTwo.\n\nThree.\n').then(
    expecting(201),
  )
  history.number = (await history.node.open(history.source)).number
}

const someRules = (a: number, b: number, { node }: History): Rule[] => {
  const all: Rule[] = [
    { branches: ['main'], approvals: 1 },
    { branches: ['m*'], approvals: 2, by: { role: 'editor', people: [rae.user.id] } },
    { branches: ['main', 'other'], approvals: 1, by: { role: 'maintainer' }, keep: 'same_commit' },
    { branches: ['main'], approvals: 1, keep: 'same_commit' },
    { branches: ['main'], approvals: 1, by: { people: [rae.user.id, bob.user.id] } },
    { branches: ['**'], checks: [{ name: 'links' }, { name: 'spelling', from: max.user.id }] },
    { branches: ['main'], resolved: true, merge: 'maintainer' },
    { branches: ['main'], under: node.id, approvals: 1, keep: 'same_commit', resolved: true },
    { branches: ['other'], approvals: 20 },
    { branches: ['main'], checks: [{ name: 'links', from: bob.user.id }], merge: 'owner' },
  ]
  return [pick(all, a), ...(b % 3 === 0 ? [pick(all, b)] : [])]
}

/** Sets the rules. Is refused if they name a user who has left. */
const trySet = (rules: readonly Rule[]) => ann.patch(`/orgs/${ann.org}`, { rules })

/** Runs `work` without rules. */
async function withoutRules(work: () => Promise<unknown>): Promise<void> {
  const { rules } = (await ann.get(`/orgs/${ann.org}`).then(expecting(200))).body
  await setRules()
  await work()
  await trySet(rules)
}

type Act = (history: History, a: number, b: number) => Promise<unknown>

const review = async (history: History, by: PersonClient, verdict: string) => {
  const { source_commit } = await history.node.pull(history.number)
  await by.post(`${pathOf(history)}/reviews`, { verdict, text: 'Read.', expected_source_commit: source_commit })
}

const acts: Readonly<Record<string, Act>> = {
  commit: (history, a, b) =>
    write(pick([ann, ann, ann, bob, cy], a), history.node, history.source, `${b % 3}.txt`, `${a}\n`),
  // Only where no rule forbids it; the naive judge sees what became of it.
  commitToMain: (history, a, b) => withoutRules(() => write(cy, history.node, 'main', `${3 + (b % 3)}.txt`, `${a}\n`)),
  update: async (history, a, b) => {
    await acts.commitToMain?.(history, a, b)
    await acts.rebase?.(history, a, b)
  },
  rebase: (history, a) => pick([ann, bob, max], a).post(`${pathOf(history)}/update-branch`),
  approve: (history, a) => review(history, pick(people(), a), 'approve'),
  approveAll: async (history) => {
    for (const by of people()) await review(history, by, 'approve')
  },
  object: (history, a) => review(history, pick(people(), a), 'request_changes'),
  remark: (history, a) => review(history, pick(people(), a), 'comment'),
  withdraw: (history, a, b) =>
    pick(people(), a).patch(`${pathOf(history)}/reviews/${1 + (b % 12)}`, { state: 'withdrawn' }),
  dismiss: (history, _, b) =>
    max.patch(`${pathOf(history)}/reviews/${1 + (b % 12)}`, { state: 'dismissed', reason: 'Answered' }),
  comment: (history, a, b) =>
    pick(people(), a).post(`${pathOf(history)}/comments`, {
      text: 'Hm.',
      ...(b % 2 === 0 && { thread: 1 + (b % 6) }),
    }),
  deleteComment: (history, _, b) => max.delete(`${pathOf(history)}/comments/${1 + (b % 8)}`),
  resolve: (history, a, b) => ann.patch(`${pathOf(history)}/threads/${1 + (b % 8)}`, { resolved: a % 4 !== 0 }),
  report: async (history, a, b) => {
    const { source_commit } = await history.node.pull(history.number)
    const state = pick(['success', 'success', 'failure', 'pending'], b)
    await pick([ann, bob, max], a).put(
      `${history.node.at}/checks/${source_commit}/${pick(['links', 'spelling'], a + b)}`,
      { state },
    )
  },
  role: (_, a, b) =>
    become(pick([bob, cy, rae], a), pick(['reader', 'contributor', 'editor', 'maintainer', 'editor'], b)),
  leave: (_, a) => ann.delete(`/orgs/${ann.org}/members/${pick([cy, rae], a).user.email}`),
  rules: (history, a, b) => trySet(someRules(a, b, history)),
  draft: (history, a) => ann.patch(pathOf(history), { is_draft: a % 3 === 0 }),
  merge: (history, a) => tryMerge(history, pick([ann, ann, max, bob, cy], a), 'merge'),
  push: (history, a) => tryMerge(history, pick([ann, max, bob], a), 'push'),
}

/** Merges exactly if the naive judge lets it in, and the user has the role. */
async function tryMerge(history: History, by: PersonClient, door: 'merge' | 'push'): Promise<void> {
  const { node, org, number, source } = history
  const naive = judgeNaively(node.git, org, node.id, number)
  const { members } = (await ann.get(`/orgs/${ann.org}/members`).then(expecting(200))).body
  const role: string | undefined = members.find(({ email }: { email: string }) => email === by.user.email)?.role
  const roles = ['editor', 'maintainer', 'owner']
  const isAllowed = naive.can_merge && roles.indexOf(role ?? '') >= roles.indexOf(naive.merge_role)
  const before = node.git.head()
  let isIn: boolean
  if (door === 'merge') isIn = (await by.post(`${pathOf(history)}/merge`)).status === 200
  else isIn = await push(node, by, source)
  // Where no rule holds, editors push to main what they like.
  const isFree = door === 'push' && naive.merge_reasons.join() === 'draft' && (await isWithoutRules(history))
  if (isFree || (door === 'push' && naive.merge_reasons[0] === 'no_commits_ahead')) return
  expect(isIn, `${door} by ${by.user.name}, ${role}: ${JSON.stringify(naive)}`).to.equal(isAllowed)
  if (!isIn) expect(node.git.head()).to.equal(before)
}

/** Pushes to main, again while other writes hold the lock. Returns true if main has moved. */
async function push(node: TestNode, by: PersonClient, source: string): Promise<boolean> {
  for (;;) {
    const { code, text } = await gitIn(node, by.session.accessToken, `git push -q $REMOTE ${source}:main`)
    if (code === 0 || !/another write is in progress|error: 503/.test(text)) return code === 0
  }
}

async function isWithoutRules({ node }: History): Promise<boolean> {
  const { rules } = (await ann.get(`/orgs/${ann.org}`).then(expecting(200))).body
  const here = ({ branches, under }: { branches: string[]; under?: string }) =>
    (under === undefined || under === node.id) && branches.some((one) => one !== 'other')
  return !rules.some(here)
}

async function compare(history: History): Promise<void> {
  const { node, org, number } = history
  const pr: Answer['body'] = await node.pull(number)
  if (pr.status === 'merged') {
    history.merged++
    // A rule for all branches also holds for the next draft.
    await withoutRules(() => propose(history))
    return compare(history)
  }
  const { merge_reasons, can_merge, consent } = pr
  const { verdicts, checks, may_override: _, ...rest } = consent
  const required = checks.filter((one: { required: boolean }) => one.required)
  const said = {
    merge_reasons,
    can_merge,
    ...rest,
    verdicts: verdicts.map(({ entry, verdict, state, counts }: Record<string, unknown>) => ({
      ...{ entry, verdict, state, counts },
    })),
    demanded: Object.fromEntries(required.map(({ name, state }: Record<string, string>) => [name, state])),
  }
  expect(said).to.deep.equal(judgeNaively(node.git, org, node.id, number))
}

describe('consent over random histories', () => {
  useDoors()

  const nat = fc.nat(1_000)
  const often = [
    'commit',
    'update',
    'update',
    'approve',
    'approveAll',
    'approveAll',
    'resolve',
    'report',
    'rules',
    'merge',
    'merge',
  ]
  const anAct = fc.tuple(fc.constantFrom(...Object.keys(acts), ...often), nat, nat)

  it('is what a naive judge of the files says, and decides each merge', async () => {
    let merged = 0
    const someActs = fc.array(anAct, { minLength: 15, maxLength: 35 })
    const property = fc.asyncProperty(someActs, nat, async (chosen, first) => {
      for (const by of [bob, cy]) await become(by, 'editor')
      await become(rae, 'reader')
      await setRules()
      const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
      const org = repositoryIn(grove, ann.org, 'org')
      const history: History = { node, org, number: 0, source: '', merged: 0 }
      await propose(history)
      await setRules(...someRules(first, 1, history))
      for (const [name, a, b] of chosen) {
        await acts[name]?.(history, a, b)
        await compare(history)
      }
      merged += history.merged
      node.git.fsck()
    })
    await fc.assert(property, { numRuns: 12, endOnFailure: true, includeErrorInReport: true })
    expect(merged, 'some merges').to.be.above(0)
  })
})
