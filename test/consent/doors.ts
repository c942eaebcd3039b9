/** Shared by the tests of doors: users of each role, proposals, and ways to merge. */

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { formsOf } from '../pages/forms.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

export let grove: Grove
/** Owns the organisation, and opens proposals. */
export let ann: PersonClient
/** Edits, as Cy does. */
export let bob: PersonClient
export let cy: PersonClient
/** Maintains. */
export let max: PersonClient
/** Reads. */
export let rae: PersonClient
/** Contributes. */
export let kim: PersonClient
let desk: Desk

/** Starts a service for the file. After each test there are no rules. */
export function useDoors(): void {
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    bob = await member('Bob', 'editor')
    cy = await member('Cy', 'editor')
    max = await member('Max', 'maintainer')
    rae = await member('Rae', 'reader')
    kim = await member('Kim', 'contributor')
    desk = await newDesk()
  })
  afterEach(() => ann.patch(`/orgs/${ann.org}`, { rules: [], require_pull_requests: false }).then(expecting(200)))
  after(async () => {
    await desk.remove()
    await grove.close()
  })
}

export async function member(name: string, role: string): Promise<PersonClient> {
  const person = await signUp(grove, name)
  await become(person, role)
  return person
}

export const become = (person: PersonClient, role: string) =>
  ann
    .put(`/orgs/${ann.org}/members/${person.user.email}`, { role })
    .then(({ status }) => expect(status).to.be.within(200, 201))

export type Rule = Readonly<Record<string, unknown>>

/** Sets rules, by default for existing pages only, so that tests can create pages. */
export const setRules = (...rules: Rule[]) =>
  ann.patch(`/orgs/${ann.org}`, { rules: rules.map((rule) => ({ pages: 'existing', ...rule })) }).then(expecting(200))

export interface Proposal {
  readonly node: TestNode
  readonly number: number
  readonly path: string
  readonly source: string
  readonly target: string
}

/** A proposal of Ann from `draft`, on a new node. */
export async function aProposal(more: object = {}): Promise<Proposal> {
  const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
  await node.proposal('draft')
  return proposalOn(node, 'draft', more)
}

export async function proposalOn(node: TestNode, source: string, more: object = {}): Promise<Proposal> {
  const { number, target_branch: target } = await node.open(source, more)
  return { node, number, path: `${node.at}/pull-requests/${number}`, source, target }
}

export const headOf = async ({ node, number }: Proposal): Promise<string> => (await node.pull(number)).source_commit

export async function review(by: Client, proposal: Proposal, verdict: string, text = 'Because'): Promise<number> {
  const body = { verdict, text, expected_source_commit: await headOf(proposal) }
  return (await by.post(`${proposal.path}/reviews`, body).then(expecting(201))).body.entry
}

export async function report(by: Client, proposal: Proposal, name: string, body: object): Promise<void> {
  const { at } = proposal.node
  await by.put(`${at}/checks/${await headOf(proposal)}/${encodeURIComponent(name)}`, body).then(expecting(200))
}

/** A personal access token of the user. */
export async function tokenOf(who: Client, access = 'write'): Promise<string> {
  return (await who.post('/auth/tokens', { name: 'Script', access }).then(expecting(201))).body.token
}

export const withToken = async (who: Client, access = 'write') => client(grove, await tokenOf(who, access))

/** All refs of the node, with the ledger. */
export const refsOf = ({ git }: TestNode) => git.say('for-each-ref', '--format=%(refname) %(objectname)')

const pageOf = ({ node, number }: Proposal) => `${grove.url}${pageAt(node.org, node.id)}/proposals/${number}`

/** Holds the ledger's lock while `begun` waits for it, and does `then` before it releases the lock. */
export async function whileWaiting<T>(node: TestNode, begun: () => Promise<T>, then: (lock: string) => unknown) {
  const lock = join(node.git.dir, 'refs/grove/ledger.lock')
  writeFileSync(lock, `${node.git.say('rev-parse', 'refs/grove/ledger')}\n`)
  try {
    let hasEnded = false
    const work = begun().finally(() => {
      hasEnded = true
    })
    await until(() => hasEnded || hasTransaction(node))
    await then(lock)
    rmSync(lock, { force: true })
    return await work
  } finally {
    rmSync(lock, { force: true })
  }
}

/** True if a transaction has begun to lock the node's ledger. */
function hasTransaction({ id }: TestNode): boolean {
  const { run, process } = grove.deps.store
  const folder = join(run, process)
  if (!existsSync(folder)) return false
  const tokens = readdirSync(folder).map((name) => join(folder, name, 'token'))
  return tokens.some((token) => textOf(token).includes(`${id}.git/refs/grove/ledger`))
}

/** Empty if there is none, also where it has gone since it was listed. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

let copies = 0

/** Runs Git in a bare copy of the node, and returns its code and text without the URL. */
export async function gitIn({ org, id }: TestNode, token: string, script: string) {
  const REMOTE = remoteUrl(grove, org, id, token)
  const copy = `copy-${++copies}`
  const fetch = `git init -q --bare ${copy}; cd ${copy}; git fetch -q $REMOTE '+refs/heads/*:refs/heads/*'`
  const { code, text } = await desk.sh(`${fetch}; ${script}`, { REMOTE })
  return { code, text: text.replace(/^(To|error: failed to push some refs to) .*\n/gm, '') }
}

/** The texts of a refusal. */
export interface Refusal {
  readonly status?: number
  readonly code: string
  readonly detail: string
  /** The reason in git's report. */
  readonly reason: string
  /** Further lines, without the page. */
  readonly lines?: readonly string[]
  /** True if the last line is the page. Default: true. */
  readonly page?: boolean
}

/** A way to merge. */
export interface Door {
  /** Tries it and expects these texts. */
  refuses(proposal: Proposal, by: PersonClient, refusal: Refusal): Promise<void>
  allows(proposal: Proposal, by: PersonClient): Promise<void>
}

const merge = ({ path }: Proposal, by: Client) => by.post(`${path}/merge`, {})

async function sendForm(proposal: Proposal, by: PersonClient) {
  const fields = { act: 'merge', commit: await headOf(proposal), target: proposal.target }
  const path = pageOf(proposal).slice(grove.url.length)
  return (await formsOf(grove, by))(path, fields)
}

const inHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/** The text of a refused push. Git aligns the names of refs. */
function pushText(proposal: Proposal, { reason, lines = [], page = true }: Refusal, refs: readonly string[]): string {
  const shown = [...lines, ...(page ? [pageOf(proposal)] : [])]
  const remote = shown.map((line) => `remote: ${proposal.target}: ${line}\n`)
  return `${remote.join('')}${refs.map((ref) => ` ! [remote rejected] ${ref} (${reason})\n`).join('')}`
}

const pushDoor = (tokenFor: (by: PersonClient) => Promise<string> | string): Door => {
  const push = async (proposal: Proposal, by: PersonClient) =>
    gitIn(proposal.node, await tokenFor(by), `git push -q $REMOTE ${proposal.source}:${proposal.target}`)
  return {
    refuses: async (proposal, by, refusal) => {
      const refs = [`${proposal.source} -> ${proposal.target}`]
      expect(await push(proposal, by)).to.deep.equal({ code: 1, text: pushText(proposal, refusal, refs) })
    },
    allows: async (proposal, by) => {
      const { code, text } = await push(proposal, by)
      expect({ code, text }).to.deep.equal({
        code: 0,
        text: `remote: Pull request ${proposal.number} is merged: Merge ${proposal.source}\n`,
      })
    },
  }
}

const restDoor = (as: (by: PersonClient) => Promise<Client> | Client): Door => ({
  refuses: async (proposal, by, { status = 409, code, detail }) => {
    const answer = await merge(proposal, await as(by))
    expect([answer.status, answer.body.code, answer.body.detail]).to.deep.equal([status, code, detail])
  },
  allows: async (proposal, by) => void (await merge(proposal, await as(by)).then(expecting(200))),
})

/** The ways to merge a proposal, by name. */
export const doors: Readonly<Record<string, Door>> = {
  'POST merge': restDoor((by) => by),
  'POST merge by a token': restDoor((by) => withToken(by)),
  'the page': {
    refuses: async (proposal, by, { status = 409, detail }) => {
      const answer = await sendForm(proposal, by)
      expect(answer.status).to.equal(status)
      // Pages speak of proposals.
      expect(answer.body).to.include(inHtml(detail.replaceAll('pull request', 'proposal')))
    },
    allows: async (proposal, by) => void expect((await sendForm(proposal, by)).status).to.equal(303),
  },
  'git push': pushDoor((by) => by.session.accessToken),
  'git push by a token': pushDoor((by) => tokenOf(by)),
  'git push --atomic': {
    refuses: async (proposal, by, refusal) => {
      const { source, target } = proposal
      const script = `git push -q --atomic $REMOTE ${source}:${target} ${source}:extra`
      const { code, text } = await gitIn(proposal.node, by.session.accessToken, script)
      expect(code).to.equal(1)
      const { reason, ...rest } = refusal
      expect(text).to.satisfy((shown: string) => shown.includes(`${source} -> ${target} (${reason})\n`), text)
      expect(text).to.satisfy((shown: string) => shown.startsWith(pushText(proposal, { reason, ...rest }, [])), text)
      expect(text).to.match(/ ! \[remote rejected\] draft -> extra \([^)]+\)\n/)
    },
    allows: async (proposal, by) => {
      const { source, target } = proposal
      const script = `git push -q --atomic $REMOTE ${source}:${target} ${source}:extra`
      expect(await gitIn(proposal.node, by.session.accessToken, script)).to.deep.include({ code: 0 })
      expect(proposal.node.git.head('extra')).to.equal(proposal.node.git.head(target))
    },
  },
}

/** Expects that the proposal was merged at this head, and that the ledger says by whom. */
export async function expectMerged(proposal: Proposal, head: string, by: PersonClient): Promise<void> {
  const { node, number, target } = proposal
  expect(node.git.head(target)).to.equal(head)
  expect(await node.pull(number)).to.include({ status: 'merged', merged_by: by.user.name, source_commit: head })
  const record = JSON.parse(node.git.say('show', `refs/grove/ledger:pulls/0/0/${number}.json`))
  expect(record).to.include({ status: 'merged' })
}
