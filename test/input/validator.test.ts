import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express, { type ErrorRequestHandler } from 'express'
import { setOperation } from '../../server/http/context.ts'
import { compileOnFirstUse, stepsNamed } from '../../server/http/contract/openapi-validator.ts'
import { findPath } from '../../server/http/contract/spec.ts'
import { validate } from '../../server/http/contract/validation.ts'
import { toValidationErrors } from '../../server/http/contract/validation-errors.ts'

/** Returns the status with which a service that checks its answers sends one of `getOrg`. */
async function answered(status: number, body: object): Promise<number> {
  const app = express()
  app.use((req, _res, next) => {
    const match = findPath(req.url)
    const operation = match?.operations.get('GET')
    if (match && operation) setOperation(req, operation, match)
    next()
  })
  app.use(validate({ answersToo: true }))
  app.use((_req, res) => void res.status(status).json(body))
  app.use(((_error, _req, res, _next) => void res.status(500).end()) satisfies ErrorRequestHandler)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo // it listens on a port
    return (await fetch(`http://127.0.0.1:${port}/orgs/11111111-1111-4111-8111-111111111111`)).status
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

describe('the validator', () => {
  const steps = ['pathParamsMiddleware', 'metadataMiddleware', 'requestMiddleware'].map((name) => ({ name }))

  it('is asked by the names of its steps', () => {
    expect(stepsNamed(steps, ['requestMiddleware'])).to.deep.equal([{ name: 'requestMiddleware' }])
  })

  it('that calls its steps otherwise keeps the service from starting', () => {
    const message =
      'express-openapi-validator should have one step called responseMiddleware; it has pathParamsMiddleware, metadataMiddleware, requestMiddleware'
    expect(() => stepsNamed(steps, ['requestMiddleware', 'responseMiddleware'])).to.throw(message)
    expect(() => stepsNamed([...steps, { name: 'requestMiddleware' }], ['requestMiddleware'])).to.throw('one step')
  })

  it('that compiles schemas otherwise keeps the service from starting', () => {
    expect(() => compileOnFirstUse({})).to.throw('express-openapi-validator should have the method buildValidators')
  })

  it('compiles only the schemas of sent answers, and finds a fault in each of them', async () => {
    const built: string[] = []
    const compiler = {
      buildValidators(responses: Readonly<Record<string, unknown>>) {
        built.push(...Object.keys(responses))
        return Object.fromEntries(Object.keys(responses).map((status) => [status, { json: status }]))
      },
    }
    compileOnFirstUse(compiler)
    const responses = { 200: { a: 1 }, 422: { a: 2 }, default: { a: 3 } }
    const validators = compiler.buildValidators(responses)
    expect(Object.keys(validators)).to.deep.equal(['200', '422', 'default'])
    expect(built).to.deep.equal([])
    for (let n = 0; n < 2; n++) expect(validators[200]).to.deep.equal({ json: '200' })
    expect(built).to.deep.equal(['200'])
    // Another operation with an equal schema shares what is compiled.
    expect(compiler.buildValidators({ 201: { a: 1 } })[201]).to.deep.equal({ json: '200' })
    expect(built).to.deep.equal(['200'])

    const sent = [
      [422, { detail: [{ loc: ['path', 'org_id'], msg: 'Field required', type: 'missing' }] }, 422],
      [404, { detail: 'Not found', code: 'not_found', request_id: 'a', link: '/docs/errors#not_found' }, 404],
      [404, { detail: 'Not found', code: 'not_found' }, 500],
      [422, { detail: 'Not a list' }, 500],
      [200, { status: 'ok' }, 500],
    ] as const
    for (const [status, body, expected] of sent) expect(await answered(status, body), `${status}`).to.equal(expected)
  })

  const schemas = {
    body: {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 3, maxLength: 7, pattern: '^[a-z]+$' },
        size: { type: ['integer', 'null'], minimum: 2, maximum: 9 },
        scope: { anyOf: [{ type: 'object', properties: { tags: { type: 'array', maxItems: 4 } } }, { type: 'null' }] },
      },
    },
    query: {},
    params: {},
  }
  const found = (keyword: string, path: string, body: unknown) =>
    toValidationErrors([{ path, errorCode: `${keyword}.openapi.validation` }], { body, query: {}, params: {} }, schemas)

  it('names a limit as the schema has it, whatever the validator says in its own words', () => {
    expect(found('minLength', '/body/name', { name: 'a' })).to.deep.equal([
      {
        loc: ['body', 'name'],
        msg: 'String should have at least 3 characters',
        type: 'string_too_short',
        ctx: { min_length: 3 },
        input: 'a',
      },
    ])
    expect(found('maximum', '/body/size', { size: 10 })[0]).to.deep.include({ ctx: { le: 9 }, type: 'less_than_equal' })
    expect(found('maxItems', '/body/scope/tags', { scope: { tags: [] } })[0]).to.deep.include({
      ctx: { max_length: 4 },
    })
    expect(found('type', '/body/size', { size: 'x' })[0]).to.include({ type: 'int_type' })
    expect(found('type', '/body/scope', { scope: 5 })[0]).to.include({ type: 'dict_type' })
  })

  it('is told once what it finds several times at one place: the first of what says most', () => {
    const all = ['pattern', 'minLength', 'maxLength'].map((keyword) => ({
      path: '/body/name',
      errorCode: `${keyword}.x`,
    }))
    expect(toValidationErrors(all, { body: { name: '' }, query: {}, params: {} }, schemas)).to.have.length(1)
    expect(toValidationErrors(all, { body: { name: '' }, query: {}, params: {} }, schemas)[0]).to.include({
      type: 'string_too_short',
    })
  })

  it('finds a null that is not meant beside what is, and that is not told', () => {
    const both = [
      { path: '/body/scope/more', errorCode: 'additionalProperties.x' },
      { path: '/body/scope', errorCode: 'type.x' },
      { path: '/body/scope', errorCode: 'anyOf.x' },
    ]
    const problems = toValidationErrors(both, { body: { scope: { more: 1 } }, query: {}, params: {} }, schemas)
    expect(problems.map(({ loc }) => loc)).to.deep.equal([['body', 'scope', 'more']])
  })

  it('says something even of a keyword that nobody knows yet', () => {
    expect(found('dependentRequired', '/body', {})).to.deep.equal([
      { loc: ['body'], msg: 'Input has the wrong shape', type: 'value_error' },
    ])
  })
})
