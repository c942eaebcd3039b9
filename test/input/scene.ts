/** Shared by the tests of input: a service, a user, a node, and raw requests. */

import { request as httpRequest } from 'node:http'
import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import spec from '../../spec/openapi.json' with { type: 'json' }
import { type Grove, startGrove } from '../support/grove.ts'
import { type PersonClient, signUp } from '../support/people.ts'

interface Asked {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly example: unknown
}

/** Every operation with an example of its body, as the spec has it. */
export const operations: Asked[] = Object.entries(spec.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      example: exampleOf(operation),
    })),
)

function exampleOf(operation: object): unknown {
  if (!('requestBody' in operation)) return undefined
  const { content } = operation.requestBody as {
    content: { 'application/json'?: { example?: unknown; examples?: Record<string, { value: unknown }> } }
  } // the spec gives each JSON body an example
  const { example, examples } = content['application/json'] ?? {}
  return example ?? Object.values(examples ?? {})[0]?.value
}

/** The path and headers as they stand: fetch would resolve `..` and ask for what is fresh. Answers the status. */
export function raw(
  grove: Grove,
  method: string,
  path: string,
  token: string,
  body?: unknown,
  given: Record<string, string> = {},
): Promise<number> {
  const { hostname, port } = new URL(grove.url)
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { authorization: `Bearer ${token}`, ...type, ...given }
    const sent = httpRequest({ hostname, port, method, path, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
}

export let grove: Grove

export let ann: PersonClient

export let node: string

export const problems = async (answer: Promise<{ status: number; body: { detail: unknown } }>) => {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).to.equal(422)
  return body.detail
}

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    // To whom no operation is forbidden.
    await updateAccount(
      { ...grove.deps, actor: operator },
      { path: { account_id: ann.user.id }, body: { is_admin: true } },
    )
    node = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales', text_content: 'Large.' })).body.id
  })
  after(() => grove.close())
}
