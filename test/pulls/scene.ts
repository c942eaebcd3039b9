/** Shared by the tests of pull requests. It has a service whose clock they move, Ann who owns, and Bob who edits. */

import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove

export let ann: PersonClient

export let bob: PersonClient

let time = 0

export const now = () => new Date(time).toISOString()

export const pass = (seconds: number) => {
  time += seconds * 1000
}

export let nodes: TestNode[] = []

export const aNode = async (fields: object = {}) => {
  const node = await newNode(grove, ann, fields)
  nodes.push(node)
  return node
}

/** A node with a request from `draft` to main that could be merged. */
export const aProposal = async (more: object = {}) => {
  const node = await aNode()
  const target = node.git.head()
  const source = await node.proposal('draft')
  const pr = await node.open('draft', more)
  return { node, pr, source, target, path: `${node.at}/pull-requests/${pr.number}` }
}

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    nodes = []
    time = Date.parse('2026-01-01T00:00:00Z')
    grove = await startGrove({ now: () => new Date(time) })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
  })
  after(() => grove.close())
}

/** Registers a test of all nodes that the file has made. */
export function leavesCleanRepositories(): void {
  it('leaves repositories that git fsck finds clean', () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
  })
}
