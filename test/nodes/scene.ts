/** Shared by the tests of nodes: a service, a user, and the errors of missing things. */

import { expect } from 'chai'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'

export const noNode = { status: 404, body: { detail: 'Node not found', code: 'node_not_found' } }

export let grove: Grove

export let ann: PersonClient

export let nodes: string

export function make(fields: object = {}): Promise<TestNode> {
  return newNode(grove, ann, fields)
}

export async function emptyOrg(): Promise<PersonClient> {
  const { body } = await ann.post('/orgs', { name: 'Atlas' }).then(expecting(201))
  return { ...ann, org: body.id }
}

export async function read(node: Pick<TestNode, 'at'>): Promise<Answer['body']> {
  return (await ann.get(node.at).then(expecting(200))).body
}

/** The one problem that a 422 names. */
export function problem({ status, body }: Answer): object {
  expect([status, body.detail.length]).to.deep.equal([422, 1])
  const { msg, ...rest } = body.detail[0]
  return rest
}

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    nodes = `/orgs/${ann.org}/nodes`
  })
  after(() => grove.close())
}
