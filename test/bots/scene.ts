/** Shared by the tests of bots: bots, and clients with their tokens. */

import type { Schemas } from '../../spec/client/client.ts'
import { expecting } from '../support/node.ts'
import { type Client, client } from '../support/people.ts'

interface Service {
  readonly url: string
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
): Promise<Schemas['Bot']> {
  return (await owner.post(`/orgs/${org}/bots`, { name, role }).then(expecting(201))).body
}

/** Creates a token of a bot and returns a client with it, and the answer. */
export async function speaking(service: Service, owner: Client, org: string, bot: string, fields: object = {}) {
  const at = `/orgs/${org}/bots/${bot}/tokens`
  const { body } = await owner.post(at, { name: 'CI', access: 'write', ...fields }).then(expecting(201))
  return { as: client(service, body.token), token: body.token as string, id: body.id as string }
}
