import { expect } from 'chai'
import document from '../../spec/openapi.json' with { type: 'json' }
import { castFor, type World, worldOf } from '../support/cast.ts'
import { type Client, client } from '../support/people.ts'
import { metricsToken } from '../support/scrapes.ts'
import { useWorld } from '../support/world.ts'
import { resolved, type Schema, withObjects, withValue, wrongParameters, wrongValues } from '../support/wrong-values.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Schema
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Schema[]
  readonly requestBody?: { readonly content: Record<string, { schema: Schema; example?: unknown; examples?: object }> }
  readonly responses: Readonly<Record<string, unknown>>
}

interface Asked extends Operation {
  readonly method: string
  readonly path: string
  readonly parameters: readonly (Schema & Parameter)[]
}

const operations: Asked[] = Object.entries(document.paths).flatMap(([path, item]) => {
  type PathItem = { parameters?: Schema[] } & Record<string, Operation>
  const { parameters: shared = [], ...methods } = item as unknown as PathItem // each path has a type of its own
  return Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    method: method.toUpperCase(),
    path,
    parameters: [...shared, ...(operation.parameters ?? [])].map((one) => resolved(one) as Schema & Parameter), // the spec's lint says so
  }))
})

describe('input invented from the spec', () => {
  const { grove } = useWorld({}, { metricsToken })
  let world: World
  let owner: Client

  before(async () => {
    world = await worldOf(await castFor(grove), false)
    owner = world.owner
  })

  /** The path with the world's things in it; `other` is sent as it is. */
  const urlOf = (path: string, other: Readonly<Record<string, string>> = {}) => {
    const known: Record<string, string> = {
      org_id: world.org,
      node_id: world.node,
      branch: 'main',
      number: '1',
      entry: '1',
      type_name: 'recipe',
      draft_id: world.node,
    }
    return path.replace(/\{(\w+)\}/g, (_, name: string) => other[name] ?? known[name] ?? '0'.repeat(40))
  }

  const ask = async ({ method, path, requestBody }: Asked, url: string, body?: unknown) => {
    const isZip = requestBody !== undefined && 'application/zip' in requestBody.content
    const type = isZip ? { 'content-type': 'application/zip' } : undefined
    const [send, text] = [method.toLowerCase() as keyof Client, body === undefined ? undefined : JSON.stringify(body)]
    const asked = {
      get: () => (path === '/metrics' ? client(grove, metricsToken) : owner).get(url),
      delete: () => owner.delete(url, {}, text),
      post: () => owner.post(url, text ?? '{}', type),
      put: () => owner.put(url, text ?? '{}'),
      patch: () => owner.patch(url, text ?? '{}'),
    }
    const answer = await asked[send]()
    return { ...answer, what: `${method} ${path} as ${url} with ${text?.slice(0, 300)}` }
  }

  /** One entry, which tells where it is wrong, and no more than the document says of an entry. */
  const expectOne = (answer: Awaited<ReturnType<typeof ask>>, loc: readonly (string | number)[]) => {
    const { status, body, what } = answer
    expect(status, `${what}: ${JSON.stringify(body)}`).to.equal(422)
    expect(Object.keys(body), what).to.deep.equal(['detail'])
    expect(
      body.detail.map((entry: { loc: unknown }) => entry.loc),
      what,
    ).to.deep.equal([loc])
    for (const entry of body.detail) {
      expect(entry, what).to.include.all.keys('loc', 'msg', 'type')
      expect(['loc', 'msg', 'type', 'input', 'ctx'], what).to.include.members(Object.keys(entry))
      expect(entry.type, what).to.be.oneOf(document.components.schemas.ValidationProblem.properties.type.enum)
      expect(entry.msg, what)
        .to.match(/\S/)
        .and.not.match(/undefined|NaN|\[object/)
    }
  }

  for (const operation of operations) {
    const { operationId, method, path, parameters, requestBody } = operation
    const content = requestBody?.content['application/json']

    it(`${operationId}: each wrong parameter is one entry of a 422`, async () => {
      for (const { name, in: place, schema } of parameters) {
        for (const text of place === 'header' ? [] : wrongParameters(schema)) {
          const query = `${required(parameters, name)}${place === 'query' ? `${name}=${text}` : ''}`
          const url = `${urlOf(path, place === 'path' ? { [name]: text } : {})}?${query}`
          const body = requestBody === undefined ? undefined : exampleOf(operation)
          expectOne(await ask(operation, url, body), [place, name])
        }
      }
      const { status, body } = await ask(
        operation,
        `${urlOf(path)}?${required(parameters)}no_such_parameter=1`,
        exampleOf(operation),
      )
      expect([status, body.detail], method).to.deep.equal([
        422,
        [
          {
            loc: ['query', 'no_such_parameter'],
            msg: 'Extra inputs are not permitted',
            type: 'extra_forbidden',
            // Under /auth/ no answer repeats what it does not know.
            ...(path.startsWith('/auth/') ? {} : { input: '1' }),
          },
        ],
      ])
    })

    if (content === undefined) continue
    it(`${operationId}: each wrong field is one entry of a 422`, async () => {
      for (const { at, value, loc } of wrongValues(content.schema)) {
        const body = withValue(withObjects(exampleOf(operation), content.schema, at), at, value)
        expectOne(await ask(operation, urlOf(path), body), ['body', ...loc])
      }
    })
  }

  it('is hundreds of requests', () => {
    const ofOne = ({ parameters, requestBody }: Asked) => [
      ...parameters.flatMap(({ schema }) => wrongParameters(schema)),
      ...wrongValues(requestBody?.content['application/json']?.schema ?? {}),
    ]
    expect(operations.flatMap(ofOne)).to.have.length.above(600)
  })
})

/** The other parameters that the query must have, with any text. */
function required(parameters: Asked['parameters'], but = ''): string {
  const others = parameters.filter((one) => one.in === 'query' && one.required !== undefined && one.name !== but)
  // A value with a pattern is the id of a commit.
  const valueFor = (schema: Schema) => ('pattern' in resolved(schema) ? '0'.repeat(40) : 'main')
  return others.map(({ name, schema }) => `${name}=${valueFor(schema)}&`).join('')
}

function exampleOf({ requestBody }: Operation): unknown {
  const { example, examples = {} } = requestBody?.content['application/json'] ?? {}
  const [first] = Object.values(examples) as { value: unknown }[]
  return example ?? first?.value
}
