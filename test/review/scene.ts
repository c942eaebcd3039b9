/** What the tests of reviews share: a service whose clock they move, a proposal of Ann, and reviewers. */
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove
/** Owns the organisation and the nodes. */
export let ann: PersonClient
/** Edits. */
export let bob: PersonClient
/** Reads. */
export let cy: PersonClient
/** Maintains. */
export let di: PersonClient
/** Is not a member. */
export let eve: PersonClient
/** The nodes that the file has made. */
export let nodes: TestNode[] = []

let time = 0

export const now = () => new Date(time).toISOString()

export const pass = (seconds: number) => {
  time += seconds * 1000
}

/** Starts a service for the file. */
export function useScene(options: GroveOptions = {}): void {
  before(async () => {
    nodes = []
    time = Date.parse('2026-01-01T00:00:00Z')
    grove = await startGrove({ ...options, now: () => new Date(time) })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    cy = await signUp(grove, 'Cy')
    di = await signUp(grove, 'Di')
    eve = await signUp(grove, 'Eve')
    for (const [name, role] of Object.entries({ bob: 'editor', cy: 'reader', di: 'maintainer' }))
      await ann.put(`/orgs/${ann.org}/members/${name}@example.org`, { role }).then(expecting(200))
  })
  after(() => grove.close())
}

export interface Proposal {
  readonly node: TestNode
  readonly number: number
  /** The path of the pull request. */
  readonly path: string
  /** The head of the source. */
  readonly head: string
  /** The head of main. */
  readonly base: string
}

/** A new node with a proposal that Ann opened. @param text the proposed content.md */
export async function aProposal(text = 'Whales sing.\n', fields: object = {}): Promise<Proposal> {
  const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
  nodes.push(node)
  const base = await node.branch('draft')
  const head = await node.commit('draft', { 'content.md': text })
  const pr = await node.open('draft', fields)
  return { node, number: pr.number, path: `${node.at}/pull-requests/${pr.number}`, head, base }
}

/** Writes a comment and returns it. */
export async function comment(by: PersonClient, { path }: Proposal, text: string, more: object = {}) {
  return (await by.post(`${path}/comments`, { text, ...more }).then(expecting(201))).body
}

/** Submits a review of the present head and returns it. */
export async function review(by: PersonClient, { path }: Proposal, verdict: string, more: object = {}) {
  const { pr } = (await by.get(path).then(expecting(200))).body
  const body = { verdict, text: 'Read.', expected_source_commit: pr.source_commit, ...more }
  return (await by.post(`${path}/reviews`, body).then(expecting(201))).body
}

/** Reads the pull request. */
export async function pull({ path }: Proposal) {
  return (await ann.get(path).then(expecting(200))).body.pr
}

/** The ledger's files, by path. */
export function ledgerFile({ node }: Proposal, path: string) {
  return JSON.parse(node.git.say('show', `refs/grove/ledger:${path}`))
}
