/** Shared by the tests of reviews. It has a service whose clock they move, a proposal by Ann, and reviewers. */
import { expecting, type TestNode } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { newScene } from '../support/world.ts'

const roles = { ann: 'owner', bob: 'editor', cy: 'reader', di: 'maintainer', eve: 'stranger' } as const

const scene = newScene(roles, { clock: true })

/** Ann owns the nodes. */
export const { grove, ann, bob, cy, di, eve, nodes, pass, useScene } = scene

export const now = () => scene.now().toISOString()

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
  const node = await ann.node({ text_content: 'Whales.\n' })
  const base = await node.branch('draft')
  const head = await node.commit('draft', { 'content.md': text })
  const pr = await node.open('draft', fields)
  return { node, number: pr.number, path: `${node.at}/pull-requests/${pr.number}`, head, base }
}

/** Writes a comment and returns it. */
export async function comment(by: PersonClient, { path }: Proposal, text: string, more: object = {}) {
  return (await by.post(`${path}/comments`, { text, ...more }).then(expecting(201))).body
}

/** Submits a review of the current head and returns it. */
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
