/** What the tests of bots share: an organisation with two owners. */

import { expecting } from '../support/node.ts'
import { type Client, client, type PersonClient } from '../support/people.ts'

interface Service {
  readonly url: string
}

/** A bot as the service answers it. */
interface Bot {
  readonly id: string
  readonly name: string
  readonly email: string
}

interface NewBot {
  readonly name?: string
  readonly role?: string
}

/** Creates a bot and returns it. */
export async function newBot(
  owner: Client,
  org: string,
  { name = 'Builder', role = 'editor' }: NewBot = {},
): Promise<Bot> {
  return (await owner.post(`/orgs/${org}/bots`, { name, role }).then(expecting(201))).body
}

/** Creates a token of a bot and returns a client with it, and the answer. */
export async function speaking(service: Service, owner: Client, org: string, bot: string, fields: object = {}) {
  const at = `/orgs/${org}/bots/${bot}/tokens`
  const { body } = await owner.post(at, { name: 'CI', access: 'write', ...fields }).then(expecting(201))
  return { as: client(service, body.token), token: body.token as string, id: body.id as string }
}

/** An organisation of Ann's with Bob as another owner. */
export async function sharedOrg(ann: PersonClient, bob: PersonClient): Promise<string> {
  const { id } = (await ann.post('/orgs', { name: 'Shared' }).then(expecting(201))).body
  await ann.put(`/orgs/${id}/members/${bob.user.email}`, { role: 'owner' }).then(expecting(200))
  return id
}
