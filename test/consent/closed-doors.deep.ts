/** A branch with a rule takes commits only by a merge, for every rule and every role. */

import { expect } from 'chai'
import { formsOf } from '../pages/forms.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { Answer, PersonClient } from '../support/people.ts'
import { ended, sendZip, zipOf } from '../support/uploads.ts'
import { ann, bob, cy, gitIn, grove, max, type Rule, rae, refsOf, setRules, useDoors, withToken } from './doors.ts'

/** A node of which each door could change the branch, if it had no rule. */
interface Place {
  readonly node: TestNode
  readonly branch: string
  readonly tree: string
  /** A commit before the head. */
  readonly earlier: string
  /** Another node, which is a parent and the target of a connection. */
  readonly other: TestNode
  /** The pull request from the branch into `later`, and a comment on it that suggests a text. */
  readonly pull: string
  readonly suggestion: number
  readonly head: string
}

async function aPlace(branch: string): Promise<Place> {
  const other = await newNode(grove, ann)
  const node = await newNode(grove, ann, { text_content: 'Whales.\n', parents: [other.id] })
  await ann.post(`${node.at}/connections`, { id: 'krill', target: other.id }).then(expecting(201))
  await node.branch('later')
  await node.commit('later', { 'later.txt': 'Later.\n' })
  if (branch !== 'main') await node.branch(branch)
  const earlier = node.git.head(branch)
  const head = await node.commit(branch, { 'news.txt': 'News.\n' })
  const { number } = await node.open(branch, { target_branch: 'later' })
  const pull = `${node.at}/pull-requests/${number}`
  const anchor = { commit: head, path: 'news.txt', first_line: 1 }
  const comment = await cy.post(`${pull}/comments`, { text: '', suggestion: 'New.', anchor }).then(expecting(201))
  const tree = `${node.at}/tree/${encodeURIComponent(branch)}`
  return { node, branch, tree, earlier, other, pull, suggestion: comment.body.entry, head }
}

const changes = [{ action: 'put', path: 'direct.txt', content: 'Direct.\n' }]

type Try = (place: Place, by: PersonClient) => Promise<Answer>

/** Doors into any branch. */
const anyBranch: Readonly<Record<string, Try>> = {
  'a direct commit': ({ tree }, by) => by.post(`${tree}/commits`, { message: 'Direct', changes }),
  'a direct commit by a token': async ({ tree }, by) =>
    (await withToken(by)).post(`${tree}/commits`, { message: 'Direct', changes }),
  'a restore of an earlier version': ({ node, branch, earlier }, by) =>
    by.post(`${node.at}/branches/${encodeURIComponent(branch)}/restore`, { commit: earlier }),
  'update-branch of a pull request from it': ({ pull }, by) => by.post(`${pull}/update-branch`),
  'a suggestion applied to it': ({ pull, suggestion, head }, by) =>
    by.post(`${pull}/suggestions`, { comments: [suggestion], expected_source_commit: head }),
}

/** Doors into main. */
const intoMain: Readonly<Record<string, Try>> = {
  'a new title': ({ node }, by) => by.patch(node.at, { title: 'Direct' }),
  'a parent': async ({ node }, by) => by.put(`${node.at}/parents/${(await newNode(grove, ann)).id}`, {}),
  'a parent that is removed': ({ node, other }, by) => by.delete(`${node.at}/parents/${other.id}`),
  'a connection': ({ node, other }, by) => by.post(`${node.at}/connections`, { id: 'direct', target: other.id }),
  'a connection that is changed': ({ node }, by) => by.patch(`${node.at}/connections/krill`, { type: 'eats' }),
  'a connection that is removed': ({ node }, by) => by.delete(`${node.at}/connections/krill`),
  'a batch': ({ node }, by) => by.put(`/orgs/${node.org}/nodes/batch`, { nodes: [{ id: node.id, title: 'Direct' }] }),
}

const rules: Readonly<Record<string, (place: Place) => Rule[]>> = {
  'that only moves by merges': () => [{}],
  'with approvals by role': () => [{ approvals: 1, by: { role: 'maintainer' } }],
  'with approvals by people': () => [{ approvals: 1, by: { people: [rae.user.id] } }],
  'with approvals of the same commit': () => [{ approvals: 1, keep: 'same_commit' }],
  'with a check': () => [{ checks: [{ name: 'links' }] }],
  'with a check from a user': () => [{ checks: [{ name: 'links', from: max.user.id }] }],
  'with resolved threads': () => [{ resolved: true }],
  'with a role that merges': () => [{ merge: 'owner' }],
  'that nobody overrides': () => [{ override: 'nobody' }],
  'for a part of the graph': ({ other }) => [{ under: other.id }],
  'and a second one': () => [{ approvals: 1 }, { resolved: true, branches: ['*', 'release/*'] }],
}

const required = (branch: string, where = 'In this organisation') => ({
  status: 409,
  body: {
    code: 'pull_request_required',
    detail: `${where} \`${branch}\` can only be changed by merging a pull request`,
  },
})

describe('a branch with a rule', () => {
  useDoors()

  for (const branch of ['main', 'release/1'])
    describe(branch, () => {
      const doors = { ...anyBranch, ...(branch === 'main' ? intoMain : {}) }
      let place: Place
      before(async () => {
        place = await aPlace(branch)
      })

      /** Tries each door as an owner and an editor, and expects that nothing has moved. */
      async function expectClosed(where?: string): Promise<void> {
        const before = refsOf(place.node)
        for (const [door, attempt] of Object.entries(doors))
          for (const by of [ann, bob])
            expect(await attempt(place, by), `${door}, ${by.user.name}`).to.deep.equal(required(branch, where))
        await expectNoPush(place, ann)
        expect(refsOf(place.node)).to.equal(before)
      }

      for (const [name, rulesFor] of Object.entries(rules))
        it(`${name} opens no other door`, async () => {
          await setRules(...rulesFor(place).map((rule) => ({ branches: [branch], ...rule })))
          await expectClosed(name === 'for a part of the graph' ? 'On this node' : undefined)
        })

      it('without a rule opens each of them', async () => {
        for (const [door, attempt] of Object.entries(doors)) {
          const free = await aPlace(branch)
          const before = free.node.git.head(branch)
          const { status, body } = await attempt(free, bob)
          if (branch === 'main' && door.startsWith('update-branch')) {
            expect(body.code, 'main cannot be rebased').to.equal('branch_protected')
            continue
          }
          expect(status, door).to.be.within(200, 204)
          expect(free.node.git.head(branch), door).to.not.equal(before)
        }
      })
    })

  it('main with require_pull_requests opens none of them', async () => {
    const place = await aPlace('main')
    await ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }).then(expecting(200))
    const before = refsOf(place.node)
    for (const [door, attempt] of Object.entries({ ...anyBranch, ...intoMain }))
      expect(await attempt(place, ann), door).to.deep.equal(required('main'))
    await expectNoPush(place, ann)
    expect(refsOf(place.node)).to.equal(before)
  })

  /** A commit that no pull request has, a forced push, and a deletion. */
  async function expectNoPush({ node, branch }: Place, by: PersonClient): Promise<void> {
    const commit = `git update-ref refs/heads/direct $(git commit-tree -p ${branch} -m Direct ${branch}^{tree})`
    const token = by.session.accessToken
    const told = (shown: string, reason: string) => ` ! [remote rejected] ${shown} (${reason})\n`
    const direct = await gitIn(node, token, `${commit}; git push -q $REMOTE direct:${branch}`)
    const moves = `${branch} of this organisation moves only to the head of an open pull request`
    expect(direct).to.deep.equal({ code: 1, text: told(`direct -> ${branch}`, moves) })
    const forced = await gitIn(node, token, `git push -qf $REMOTE later:${branch}`)
    const rewound =
      branch === 'main'
        ? '`main` cannot be rewound (non-fast-forward). Pull first, then push'
        : `${branch} only moves forward: rebase onto it, or merge it`
    expect(forced).to.deep.equal({ code: 1, text: told(`later -> ${branch}`, rewound) })
    const deleted = await gitIn(node, token, `git push -q $REMOTE :${branch}`)
    const text =
      branch === 'main'
        ? told(branch, '`main` cannot be deleted')
        : `remote: ${branch}: A rule of the organisation protects it\n${told(branch, `${branch} cannot be deleted`)}`
    expect(deleted).to.deep.equal({ code: 1, text })
    const removed = await by.delete(`${node.at}/branches/${encodeURIComponent(branch)}`)
    const detail = branch === 'main' ? '`main` cannot be deleted' : `${branch} cannot be deleted`
    expect(removed).to.deep.equal({ status: 409, body: { code: 'branch_protected', detail } })
  }

  it('refuses an edit on the page, and an import of changed files', async () => {
    const { node } = await aPlace('main')
    const zip = await zipOf({ 'krill.md': '# Krill\n' })
    const first = await sendZip(ann, ann.org, zip).then(expecting(202))
    await ended(ann, ann.org, first.body.id)
    const { body } = await ann.get(`/orgs/${ann.org}/nodes?limit=200`).then(expecting(200))
    const krill = body.nodes.find(({ title }: { title: string }) => title === 'Krill')
    await setRules({ branches: ['main'], approvals: 1 })
    const before = refsOf(node)
    const fields = { head: node.git.head(), title: 'Whales', text: 'Sing.\n', message: 'Direct', act: 'save' }
    const saved = await (await formsOf(grove, bob))(`${pageAt(node.org, node.id)}/edit`, fields)
    expect(saved.status).to.equal(409)
    expect(saved.body).to.include('can only be changed by merging a proposal')
    expect(refsOf(node)).to.equal(before)
    const again = await sendZip(bob, ann.org, await zipOf({ 'krill.md': '# Krill\n\nThey are small.\n' }))
    const outcome = await ended(ann, ann.org, again.body.id)
    expect(JSON.stringify(outcome)).to.include('can only be changed by merging a pull request')
    const now = (await ann.get(`/orgs/${ann.org}/nodes/${krill.id}`).then(expecting(200))).body
    expect(now.head).to.equal(krill.head)
  })

  it('is created only by the role that merges, through each door', async () => {
    const { node } = await aPlace('main')
    const source = await node.branch('draft')
    await node.commit('draft', { 'a.txt': 'A\n' })
    const { number } = await node.open('draft')
    await ann.post(`${node.at}/pull-requests/${number}/merge`).then(expecting(200))
    await setRules({ branches: ['release/**'], merge: 'maintainer' })
    const before = refsOf(node)
    const reason = 'only maintainers make branches named release/**'
    const refused = { status: 403, body: { code: 'forbidden', detail: `In this organisation ${reason}` } }
    const doors: Record<string, Try> = {
      'POST branches': (_, by) => by.post(`${node.at}/branches`, { name: 'release/1', from: source }),
      'undo, which names it': (_, by) =>
        by.post(`${node.at}/pull-requests/${number}/undo`, { source_branch: 'release/2' }),
    }
    for (const [door, attempt] of Object.entries(doors))
      expect(await attempt({} as Place, bob), door).to.deep.equal(refused)
    const push = (by: PersonClient, to: string) =>
      gitIn(node, by.session.accessToken, `git push -q $REMOTE draft:refs/heads/${to}`)
    const text = ` ! [remote rejected] draft -> release/3 (${reason})\n`
    expect(await push(bob, 'release/3')).to.deep.equal({ code: 1, text })
    expect(refsOf(node)).to.equal(before)
    for (const [door, attempt] of Object.entries(doors))
      expect((await attempt({} as Place, max)).status, door).to.equal(201)
    expect((await push(max, 'release/3')).code).to.equal(0)
  })
})
