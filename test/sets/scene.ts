/** Shared by the tests of change sets: a service, Ann who owns, Bob who edits, Cy who contributes, Di who maintains. */

import { type Git, gitIn } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type Client, type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove
export let ann: PersonClient
export let bob: PersonClient
export let cy: PersonClient
export let di: PersonClient

/** The path of the organisation's change sets. */
export let sets = ''

export function useScene(options: Parameters<typeof startGrove>[0] = {}): void {
  before(async () => {
    grove = await startGrove(options)
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    cy = await signUp(grove, 'Cy')
    di = await signUp(grove, 'Di')
    for (const [name, role] of Object.entries({ bob: 'editor', cy: 'contributor', di: 'maintainer' }))
      await ann.put(`/orgs/${ann.org}/members/${name}@example.org`, { role }).then(expecting(200))
    sets = `/orgs/${ann.org}/change-sets`
  })
  after(() => grove.close())
}

/** Creates a page. Returns its id. */
export async function aPage(title: string, fields: object = {}): Promise<string> {
  const body = { title, text_content: `About ${title}.\n`, ...fields }
  return (await ann.post(`/orgs/${ann.org}/nodes`, body).then(expecting(201))).body.id
}

export const pageAt = (id: string) => `/orgs/${ann.org}/nodes/${id}`

export const gitOf = (id: string): Git => gitIn(grove, ann.org, id)

/** Opens a set. Returns the answer's body. */
export async function open(who: Client, body: object): Promise<Answer['body']> {
  return (await who.post(sets, { title: 'Whales', ...body }).then(expecting(201))).body
}

export const setOf = async (number: number) => (await ann.get(`${sets}/${number}`).then(expecting(200))).body.change_set

/** The items of a set by their pages. */
export const byPage = (set: Answer['body']): Record<string, Answer['body']> =>
  Object.fromEntries(set.items.map((item: Answer['body']) => [item.node_id, item]))
