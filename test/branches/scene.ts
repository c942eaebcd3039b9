/** What the tests of branches share: a service, a person, and all nodes that they make. */

import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove

export let ann: PersonClient

let nodes: TestNode[] = []

export const aNode = async (fields: object = {}) => {
  const node = await newNode(grove, ann, fields)
  nodes.push(node)
  return node
}

export const namesOf = async ({ at }: TestNode) =>
  (await ann.get(`${at}/branches`)).body.branches.map((branch: { name: string }) => branch.name)

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    nodes = []
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
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
