/** Shared by the tests of the public graph. It has a service, and a published organisation for each test. */

import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove

export let ann: PersonClient

export let anybody: Client

export let atlas: PersonClient

export let graph: string

export function make(fields: object = {}): Promise<TestNode> {
  return newNode(grove, atlas, fields)
}

export async function read(): Promise<Answer['body']> {
  return (await anybody.get(graph).then(expecting(200))).body
}

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    anybody = client(grove)
  })
  after(() => grove.close())

  beforeEach(async () => {
    const { body } = await ann.post('/orgs', { name: 'Atlas of the sea', published: true }).then(expecting(201))
    atlas = { ...ann, org: body.id }
    graph = `/public/orgs/${body.id}/graph`
  })
}
